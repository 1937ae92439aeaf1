import { Fault } from '../fault/fault.ts';
import { FileProblem, listFiles } from '../job/list-files.ts';
import type { Plan, PlannedFile } from '../job/plan.ts';

/** The files that a plan sends as they are in the user's folder by now. Throws a Fault when one is gone. */
export async function filesNow({ spec, folder, files }: Plan): Promise<PlannedFile[]> {
  const named = spec.train.files;
  const isNamed = ({ path }: PlannedFile): boolean =>
    named.some((entry) => path === entry || `${path}/`.startsWith(entry.endsWith('/') ? entry : `${entry}/`));
  const others = files.filter((file) => !isNamed(file)).map(({ path }) => path);
  const found = new Map<string, PlannedFile>();
  for (const entry of [...named, ...others])
    for (const file of await list(folder, entry)) found.set(file.path, file);
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function list(folder: string, entry: string): Promise<PlannedFile[]> {
  try {
    return await listFiles(folder, entry);
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    throw new Fault('file-invalid', `${folder}: ${error.message}`, {
      fix: 'put it back, or try again with the copies of the run: without --with-new-files',
      about: entry,
    });
  }
}

/** The paths of files that are not the same in both. */
export function changedFiles(before: readonly PlannedFile[], after: readonly PlannedFile[]): string[] {
  const hashes = new Map(before.map(({ path, sha256 }) => [path, sha256]));
  const changed = after.filter(({ path, sha256 }) => hashes.get(path) !== sha256).map(({ path }) => path);
  const left = new Set(after.map(({ path }) => path));
  return [...changed, ...before.map(({ path }) => path).filter((path) => !left.has(path))];
}
