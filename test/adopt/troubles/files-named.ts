import { walkFiles } from '@updraft/base/disk';
import type { Trouble } from './trouble.ts';

/** Sees the names of the files that the jobs have left, with `N` for the number of their cluster. */
export const filesNamed =
  (pattern: RegExp): NonNullable<Trouble['sees']> =>
  async ({ folder }) => {
    const all = await walkFiles(folder);
    const names = all.filter((name) => pattern.test(name)).map((name) => name.replace(/\d+(?=\.)/, 'N'));
    return names.toSorted().join(', ');
  };
