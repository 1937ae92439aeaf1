import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { diskFiles, parseSubmit } from '@updraft/htcondor/submit';
import type { Env } from '@updraft/base';
import { readRunJournal } from '@updraft/account/journal';
import { condorFiles, isAdopted } from '../pool/htcondor.ts';
import { readPlan } from '../pool/pool.ts';

export type OutputLocation =
  /** Not an adopted run: the attempts return what its jobs print. */
  | 'with-the-attempt'
  /** The submit file names no file, so HTCondor keeps nothing. */
  | 'nowhere'
  | { file: string };

/** Where HTCondor puts what a job of an adopted run prints: each attempt writes to the same file. */
export async function findOutput(
  env: Env,
  runFolder: string,
  job: string,
  stream: 'out' | 'err',
): Promise<OutputLocation> {
  if (!(await isAdopted(runFolder))) return 'with-the-attempt';
  const text = await readFile(path.join(runFolder, condorFiles.submit), 'utf8');
  const { folder, file } = await readPlan(runFolder);
  const entries = await readRunJournal(runFolder);
  const submitted = entries.find((entry) => entry.kind === 'submitted');
  const { queues } = parseSubmit(text, {
    file,
    cwd: folder,
    env,
    maxJobs: Number(job) + 1,
    cluster: submitted?.cluster,
    files: diskFiles(folder),
  });
  const { commands = {} } =
    queues.flatMap(({ jobs }) => jobs).find(({ process }) => process === Number(job)) ?? {};
  const named = commands[stream === 'out' ? 'output' : 'error']?.trim() ?? '';
  if (named === '') return 'nowhere';
  return { file: path.resolve(folder, commands['initialdir']?.trim() ?? '', named) };
}
