import { posix } from 'node:path';
import type { FileFact, SubmitFiles } from '@updraft/htcondor/submit';
import type { SortedFiles } from './dropped-logs.ts';
import type { DroppedFile } from './messages.ts';

/** What was dropped together, by name. */
export interface Drop {
  texts: ReadonlyMap<string, string>;
  facts: ReadonlyMap<string, FileFact>;
  /** Whether anything else in a dropped folder would be here too; of a dialog, all but empty folders. */
  isWhole: boolean | 'files';
  /** Names that a submit file or DAG has. */
  named: Set<string>;
}

/** Larger than any submit file, script or list written by hand. */
const maxTextBytes = 16 << 20;

/** All of them together: a folder may be full of results. */
const maxTextsBytes = 128 << 20;

/** Reads the first files, in their order, that are small enough to be scripts or lists; the others only count. */
export async function readDrop(
  first: readonly DroppedFile[],
  others: readonly DroppedFile[],
  folders: readonly string[] | undefined,
): Promise<Drop> {
  const texts = new Map<string, string>();
  let left = maxTextsBytes;
  for (const { name, blob } of first) {
    if (blob.size > Math.min(maxTextBytes, left)) continue;
    left -= blob.size;
    // One that cannot be read is as one that was not dropped.
    const bytes = await blob.arrayBuffer().catch(() => undefined);
    // As HTCondor reads it: with a byte order mark.
    if (bytes !== undefined) texts.set(name, new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  }
  const facts = new Map<string, FileFact>();
  const addFolder = (name: string): void => void facts.set(name, { kind: 'folder', bytes: 0 });
  for (const name of folders ?? []) addFolder(name);
  for (const { name, blob } of [...first, ...others]) {
    facts.set(name, { kind: 'file', bytes: blob.size });
    for (let at = posix.dirname(name); !facts.has(at); at = posix.dirname(at)) addFolder(at);
  }
  const isWhole = folders !== undefined && (folders.length > 0 || 'files');
  return { texts, facts, isWhole, named: new Set() };
}

/** The dropped files, by their names in the drop. */
export function filesIn({ texts, facts, isWhole, named }: Drop): SubmitFiles {
  const isMissing = (name: string): boolean =>
    (isWhole === 'files' ? posix.extname(name) !== '' : isWhole) && facts.has(name.split('/', 1).join());
  return {
    read: (name) => {
      named.add(name);
      return texts.get(name);
    },
    stat: (name) => {
      named.add(name);
      return facts.get(name) ?? (isMissing(name) ? { kind: 'missing', bytes: 0 } : undefined);
    },
    list: (folder) =>
      [...facts]
        .filter(([name]) => posix.dirname(name) === folder)
        .map(([name, { kind }]) => ({ name: posix.basename(name), isFolder: kind === 'folder' })),
  };
}

/** What nobody read or asked for; `packed`: what may be a log, since it is called so or was dropped by itself. */
export function unreadFiles({ packed, others }: Pick<SortedFiles, 'packed' | 'others'>, { named }: Drop) {
  const unread = (files: readonly DroppedFile[], isIn: (name: string) => boolean): string[] =>
    files.map(({ name }) => name).filter((name) => !named.has(name) && isIn(name));
  const isLog = (name: string): boolean => !name.includes('/') || /log[^/]*$/i.test(name);
  return {
    packed: unread(packed, isLog),
    names: [...unread(others, () => true), ...unread(packed, (name) => !isLog(name))],
  };
}
