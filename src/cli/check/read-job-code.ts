import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { CommandText, JobCode, SentText } from '../../check/code/code.ts';
import { namedFiles, type NamedFile } from '../../check/code/named-files.ts';
import { readCode } from '../../check/code/read-code.ts';
import type { Plan } from '../../job/plan.ts';
import { codeText } from './gathered.ts';

const maxFiles = 2000;
/** A file that is not sent may import others that are not sent, and so on. */
const maxRounds = 8;

/** The code of a job, with the files of its folder that it needs but does not send. */
export async function readJobCode(
  plan: Plan,
  commands: readonly CommandText[],
): Promise<{ code: JobCode; unsent: NamedFile[] }> {
  const texts = await readTexts(plan);
  const unsent = new Map<string, NamedFile>();
  for (let round = 0; round < maxRounds; round++) {
    const found = await findUnsent(plan, namedFiles(readCode(commands, texts)), unsent);
    if (found.length === 0) break;
    for (const one of found) {
      unsent.set(one.file, one);
      const text = await codeText(path.join(plan.folder, one.file));
      if (text !== undefined) texts.push({ file: one.file, text });
    }
  }
  return { code: readCode(commands, texts), unsent: [...unsent.values()] };
}

async function findUnsent(
  { folder, files, data, spec }: Plan,
  named: readonly NamedFile[],
  known: ReadonlyMap<string, NamedFile>,
): Promise<NamedFile[]> {
  const sent = files.map((file) => file.path);
  const made = [...data.map(({ into }) => into), ...spec.train.outputs];
  // After a `cd`, a command names only the end of a path.
  const isSent = (file: string): boolean => sent.some((one) => one === file || one.endsWith(`/${file}`));
  const isMade = (file: string): boolean =>
    made.some((one) => one === '.' || `${file}/`.startsWith(`${one}/`));
  const wanted = named.filter(
    ({ file }) => !file.startsWith('..') && !known.has(file) && !isSent(file) && !isMade(file),
  );
  // The use that is certain counts.
  const order = ['names', 'imports', 'runs'];
  const sorted = wanted.toSorted((a, b) => order.indexOf(a.use) - order.indexOf(b.use));
  const first = new Map(sorted.map((one) => [one.file, one]));
  const there = await Promise.all(
    [...first.values()].slice(0, maxFiles).map(async (one) => {
      const found = await stat(path.join(folder, one.file)).catch(() => undefined);
      return found?.isFile() === true ? [one] : [];
    }),
  );
  return there.flat();
}

async function readTexts({ folder, files }: Plan): Promise<SentText[]> {
  const texts: SentText[] = [];
  for (const { path: file } of files.slice(0, maxFiles)) {
    const text = await codeText(path.join(folder, file));
    if (text !== undefined) texts.push({ file, text });
  }
  return texts;
}
