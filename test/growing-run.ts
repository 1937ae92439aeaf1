import { appendFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import { attemptFiles, attemptFolder, runFiles } from '@updraft/account/run-folder';
import { type AgentBody, openAgentJournal, openJournal, type RunBody } from '@updraft/account/journal';

/** A run's folder that a test appends to, as the pool and the agents would. */
export interface GrowingRun {
  folder: string;
  run(...bodies: RunBody[]): Promise<void>;
  agent(job: string, attempt: number, ...bodies: AgentBody[]): Promise<void>;
  print(job: string, attempt: number, text: string, file?: 'out' | 'err'): Promise<void>;
  /** The entries of a successful agent, and the job's end. */
  succeed(job: string): Promise<void>;
}

/** Creates `runs/<name>` in the folder, with these jobs. */
export async function growingRun(
  t: TestContext,
  parent: string,
  jobs: string[],
  name = 'cifar10-k3v9q1',
): Promise<GrowingRun> {
  const folder = path.join(parent, 'runs', name);
  await mkdir(folder, { recursive: true });
  const journal = await openJournal(path.join(folder, runFiles.journal), systemClock);
  t.after(() => journal.close());
  const run = async (...bodies: RunBody[]) => {
    for (const body of bodies) await journal.append(body);
  };
  const agent = async (job: string, attempt: number, ...bodies: AgentBody[]) => {
    const own = attemptFolder(folder, job, attempt);
    await mkdir(own, { recursive: true });
    const file = path.join(own, attemptFiles.journal);
    await using spoken = await openAgentJournal(file, { job, attempt }, systemClock);
    for (const body of bodies) await spoken.append(body);
  };
  const print = async (job: string, attempt: number, text: string, file: 'out' | 'err' = 'out') => {
    const own = attemptFolder(folder, job, attempt);
    await mkdir(own, { recursive: true });
    await appendFile(path.join(own, attemptFiles[file]), text);
  };
  const succeed = async (job: string) => {
    await run({ kind: 'attempt-started', job, attempt: 1, why: 'first try' });
    await agent(job, 1, { kind: 'agent-started', version: '1', host: 'node-a', pid: 1, gpus: [] });
    await agent(job, 1, { kind: 'agent-ended', outcome: 'success', exit: 0 });
    await run({ kind: 'attempt-ended', job, attempt: 1, outcome: 'success', exit: 0 });
    await run({ kind: 'job-ended', job, outcome: 'success' });
  };
  const short = name.split('-').slice(0, -1).join('-');
  await run({ kind: 'run-created', run: name, name: short, pool: 'local', jobs, planHash: '', version: '1' });
  return { folder, run, agent, print, succeed };
}
