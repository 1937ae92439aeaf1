import path from 'node:path';
import { readRunState } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { nextCommands } from '../text/words.ts';
import type { SubmittedRun } from './submit-plan.ts';

/** Prints the run's folder, or with `json` the run, and what to do next. */
export async function tellSubmitted(
  cli: Cli,
  { folder, how, why, argument }: SubmittedRun,
  words: string,
  json: boolean,
): Promise<void> {
  const { tally } = await readRunState(folder);
  const run = path.basename(folder);
  cli.out(json ? `${JSON.stringify({ run, folder, how, why, tally })}\n` : `${folder}\n`);
  nextCommands(cli, [
    [`updraft watch ${argument}`, 'see it live'],
    [`updraft status ${argument}`, 'see how it stands'],
    how === 'finished'
      ? [newRun('submit', words), 'start another run']
      : [`updraft stop ${argument}`, 'stop it'],
  ]);
}

/** The command that starts another run of the same job file. */
export const newRun = (command: string, words: string): string => `updraft ${command} --new${words}`;
