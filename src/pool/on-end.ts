import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { type Env, errorReason } from '@updraft/base';
import type { RunState } from '@updraft/account/journal';
import { readPlan } from './pool.ts';

/** Enough for a mail; a command that takes longer continues without us. */
const waitMs = 10_000;

/**
 * Runs the user's `on_end` command, once for each end of a run, by whoever sees the end first. Returns what went wrong
 * with it, as a sentence.
 */
export async function runOnEnd(
  runFolder: string,
  { endedAt, rounds, tally }: Pick<RunState, 'endedAt' | 'rounds' | 'tally'>,
  env: Env,
): Promise<string | undefined> {
  // Adopted runs have no plan.
  const plan = await readPlan(runFolder).catch(() => undefined);
  const command = plan?.spec.run.onEnd;
  if (plan === undefined || command === undefined || plan.isRehearsal === true || endedAt === undefined)
    return;
  const name = `on-end-${rounds}.log`;
  try {
    // The log is also the mark that the command was started.
    const log = await open(path.join(runFolder, name), 'wx');
    const isSuccess = tally.success === tally.total;
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: plan.folder,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: {
        ...env,
        UPDRAFT_RUN: path.basename(runFolder),
        UPDRAFT_RUN_FOLDER: runFolder,
        UPDRAFT_STATE: isSuccess ? 'success' : 'failed',
        UPDRAFT_SUCCEEDED: String(tally.success),
        UPDRAFT_FAILED: String(tally.total - tally.success),
      },
    });
    const problem = await problemOf(child);
    await log.close();
    return problem === undefined ? undefined : `the on_end command ${problem}: see ${name} in ${runFolder}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    return `the on_end command could not be started: ${errorReason(error)}`;
  }
}

/** Undefined if it succeeds, or takes longer than we wait. */
function problemOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      child.unref();
      resolve(undefined);
    }, waitMs);
    const finish = (problem?: string): void => {
      clearTimeout(timer);
      resolve(problem);
    };
    child.on('error', (error) => finish(`could not be started (${errorReason(error)})`));
    child.on('exit', (code, signal) =>
      finish(
        code === 0 ? undefined : signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`,
      ),
    );
  });
}
