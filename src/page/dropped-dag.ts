import { posix } from 'node:path';
import { readDagRun } from '../dag/dag-run.ts';
import type { DagRun } from '../dag/not-submitted.ts';
import { readDag } from '../dag/read-dag.ts';
import type { Texts } from './dropped-submit.ts';
import type { DroppedFile } from './messages.ts';

/** The DAGs that no other of the dropped ones is made of: not their splices and inner DAGs. */
export function mainDags(dags: readonly DroppedFile[], texts: Texts): DroppedFile[] {
  const parts = new Set<string>();
  for (const { name } of dags)
    readDag(posix.basename(name), texts.get(name) ?? '', (one) => {
      const part = beside(name, one);
      if (part !== name) parts.add(part);
      return texts.get(part);
    });
  const mains = dags.filter(({ name }) => !parts.has(name));
  return mains.length === 0 ? [...dags] : mains;
}

/** A DAG with what was dropped of its latest run. */
export async function droppedRun(
  { name }: DroppedFile,
  texts: Texts,
  files: readonly DroppedFile[],
): Promise<DagRun> {
  const read = (one: string): string | undefined => texts.get(beside(name, one));
  const dag = readDag(posix.basename(name), read(posix.basename(name)) ?? '', read);
  const lines = (one: string) => linesOf(files.find((file) => file.name === beside(name, one)));
  return readDagRun(dag, { read, lines, shownAs: (one) => beside(name, one) });
}

/** A file that is named from the folder of another. */
const beside = (file: string, name: string): string => posix.join(posix.dirname(file), name);

async function* linesOf(file: DroppedFile | undefined): AsyncGenerator<string, void, void> {
  if (file !== undefined) yield* (await file.blob.text()).split('\n');
}
