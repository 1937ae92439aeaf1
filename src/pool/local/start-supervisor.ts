import { spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import { runFiles } from '../../job/layout.ts';
import type { PoolStart } from '../pool.ts';
import { supervisorState } from '../supervisor-state.ts';

/** The hidden command under which this program supervises a run. */
const superviseCommand = '_supervise';

const lookEveryMs = 50;

/**
 * Makes sure that a living process supervises the run: one that has a session of its own, so that it outlives the
 * command that started it, its terminal and its user's logout.
 */
export async function startSupervisor(runFolder: string, { self, env, clock }: PoolStart): Promise<void> {
  if (await isSupervised(runFolder)) return;
  const [executable = '', ...words] = self;
  const log = await open(path.join(runFolder, runFiles.supervisorLog), 'a');
  let ended: string | undefined;
  try {
    const child = spawn(executable, [...words, superviseCommand, runFolder], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: { ...env },
    });
    child.once('error', (error) => (ended = error.message));
    child.once('exit', (code, signal) => (ended = code === 0 ? '' : `it ended with ${code ?? signal ?? ''}`));
    child.unref();
  } finally {
    await log.close();
  }
  while (ended === undefined && !(await isSupervised(runFolder))) await clock.sleep(lookEveryMs);
  if (ended !== undefined && ended !== '') throw await notStarted(runFolder, ended);
}

async function isSupervised(runFolder: string): Promise<boolean> {
  const { state } = await supervisorState(runFolder);
  return state === 'running' || state === 'elsewhere';
}

async function notStarted(runFolder: string, why: string): Promise<Fault> {
  const file = path.join(runFolder, runFiles.supervisorLog);
  const said = (await readFile(file, 'utf8').catch(() => '')).trim().split('\n').slice(-3).join(' ');
  return new Fault(
    'pool-unreachable',
    `the supervisor of ${runFolder} could not be started: ${why} ${said}`,
    {
      fix: `see ${file}`,
      about: runFolder,
    },
  );
}
