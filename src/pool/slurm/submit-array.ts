import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { runFiles } from '../../job/layout.ts';
import { readJournal } from '../../journal/tail.ts';
import { requestOnce, type Submitter } from '../request-once.ts';
import { arrayName, roundFiles, slurmFiles } from './slurm-files.ts';
import type { SlurmTools } from './slurm-tools.ts';

/** Has sbatch take a round of a run exactly once. Gives the array's number. */
export async function submitArray(
  runFolder: string,
  round: number,
  submitter: Submitter<SlurmTools>,
): Promise<number> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const run = entries.find((entry) => entry.kind === 'run-created')?.run ?? path.basename(runFolder);
  const file = path.join(runFolder, roundFiles(round).script);
  return await requestOnce(runFolder, submitter, {
    round,
    lease: slurmFiles.submitting,
    name: 'sbatch',
    command: submitter.tools.command('sbatch'),
    args: ['--parsable'],
    cwd: runFolder,
    input: await readFile(file),
    find: () => findArray(runFolder, round, arrayName(run, round), submitter.tools),
    file,
  });
}

/** The array that an earlier sbatch, whose answer nobody heard, may have made: its jobs tell, or the queue does. */
async function findArray(
  runFolder: string,
  round: number,
  name: string,
  tools: SlurmTools,
): Promise<number | undefined> {
  const told = await readFile(path.join(runFolder, slurmFiles.arrays, String(round)), 'utf8').catch(() => '');
  const queued = await tools.ask('squeue', ['-h', '-a', '-t', 'all', `--name=${name}`, '-o', '%F']);
  // Without accounting it fails, and there is nobody else to ask.
  const kept = await tools.ask('sacct', ['-n', '-X', '-P', `--name=${name}`, '-o', 'JobID']).catch(() => '');
  const number = [told, queued, kept]
    .map((text) => Number.parseInt(text, 10))
    .find((one) => !Number.isNaN(one));
  return number;
}
