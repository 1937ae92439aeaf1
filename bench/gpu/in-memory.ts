import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, open, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import type { Plan } from '../../src/job/plan.ts';
import type { Dataset } from './datasets.ts';
import { followLines } from './follow-lines.ts';
import { onCores, type Seen } from './with-agent.ts';
import type { Workload } from './workloads.ts';

/** Runs the same command with the same files and the data already unpacked in memory, without the agent. */
export async function trainInMemory(
  workload: Workload,
  plan: Plan,
  dataset: Dataset | undefined,
  at: { folder: string; env: NodeJS.ProcessEnv },
): Promise<Seen> {
  const folder = path.join(at.folder, `in-memory-${workload.name}`);
  await mkdir(folder, { recursive: true });
  for (const file of plan.files) await cp(path.join(plan.folder, file.path), path.join(folder, file.path));
  if (dataset !== undefined) await symlink(dataset.unpacked, path.join(folder, 'data'));
  const cpus = String(plan.spec.resources.cpus);
  const python = { PYTHONPATH: path.resolve('python'), PYTHONUNBUFFERED: '1' };
  const env = { ...at.env, ...python, OMP_NUM_THREADS: cpus, UPDRAFT_CPUS: cpus };
  const log = path.join(folder, 'out.log');
  await using file = await open(log, 'w');

  const startedAt = Date.now();
  const command = [...onCores(workload), '/bin/sh', '-c', plan.jobs[0]?.train.command ?? ''];
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd: folder,
    env,
    stdio: ['ignore', file.fd, 'inherit'] as const,
  });
  const ended = once(child, 'exit').then(([code]) => ({ code: code as number | null, at: Date.now() }));
  const lines = await followLines(log, ended);
  const { code, at: endedAt } = await ended;
  await rm(folder, { recursive: true });
  return { startedAt, endedAt, exit: code, lines };
}
