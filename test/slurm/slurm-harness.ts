import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { type Env, systemClock } from '@updraft/base';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { RunState } from '@updraft/account/journal';
import { openPool } from '../../src/pool/open-pool.ts';
import type { Pool } from '../../src/pool/pool.ts';
import { submitRun } from '../../src/run/submit-run.ts';
import { compileCache } from '../compile-cache.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { untilState } from '../until-state.ts';
import { testCluster } from './cluster.ts';
import { agentMain, cliMain } from '../programs.ts';

const run = promisify(execFile);

/** A user's project on the cluster. */
export interface SlurmHarness {
  folder: string;
  /** Local disk of the nodes. */
  scratch: string;
  pool: Pool;
  /** Runs one of Slurm's commands. */
  tool(name: string, ...args: string[]): Promise<string>;
  /** Runs the command line as a user does. */
  updraft(...words: string[]): Promise<{ code: number | null; out: string; err: string }>;
  submit(): Promise<string>;
  /** The first state that satisfies, or the last one. */
  until(folder: string, satisfies: (state: RunState) => boolean): Promise<RunState>;
  finish(folder: string): Promise<RunState>;
  /** Waits until no job of that name waits or runs. */
  left(name: string): Promise<void>;
}

/** Skips the test and returns undefined if there is no Slurm. */
export async function slurmHarness(
  t: TestContext,
  files: Record<string, string>,
): Promise<SlurmHarness | undefined> {
  const cluster = await testCluster(t);
  if (cluster === undefined) return undefined;
  const folder = await temporaryFolder(t, files);
  const scratch = await temporaryFolder(t);
  const env: Env = {
    PATH: `${cluster.bin}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    XDG_CACHE_HOME: path.join(cluster.home, 'cache'),
    NODE_COMPILE_CACHE: compileCache,
    UPDRAFT_AGENT: await agentScript(cluster.home),
    UPDRAFT_SCRATCH: scratch,
  };
  const kill = (pid: number, signal: NodeJS.Signals): void => void process.kill(pid, signal);
  const pool = openPool('slurm', { self: [], env, clock: systemClock, pid: process.pid, kill });
  const tool: SlurmHarness['tool'] = async (name, ...args) =>
    (await run(path.join(cluster.bin, name), args, { cwd: folder })).stdout.trim();
  return {
    folder,
    scratch,
    pool,
    until: untilState,
    tool,
    finish: (of) => untilState(of, () => false),
    async left(name) {
      const deadline = systemClock.monotonic() + 300_000;
      while ((await tool('squeue', '-h', '-a', '--name', name)) !== '') {
        if (systemClock.monotonic() > deadline) throw new Error(`${name} is still in the queue`);
        await systemClock.sleep(250);
      }
    },
    updraft: (...words) =>
      new Promise((resolve) => {
        const child = execFile(
          process.execPath,
          [cliMain, ...words],
          { cwd: folder, env: { ...env } },
          (_, out, err) => resolve({ code: child.exitCode, out, err }),
        );
      }),
    async submit() {
      const plan = await loadPlan(folder, { cwd: folder });
      const options = { isNew: true, version: '0.0.0', clock: systemClock, pid: process.pid };
      const made = await submitRun(plan, pool, options);
      t.after(() =>
        run(path.join(cluster.bin, 'scancel'), ['--name', path.basename(made.folder)]).catch(() => undefined),
      );
      return made.folder;
    },
  };
}

/** The agent's source as a program: it starts faster than unpacking the executable. */
async function agentScript(home: string): Promise<string> {
  const file = path.join(home, 'agent');
  await writeFile(file, `#!/bin/sh\nexec '${process.execPath}' '${agentMain}' "$@"\n`);
  await chmod(file, 0o755);
  return file;
}

/** A job file with `train.sh`, and additional lines for its sections. */
export function project(
  train: string,
  { run: ofRun = '', resources = '', train: ofTrain = '' }: Record<string, string> = {},
): Record<string, string> {
  return {
    'train.sh': train,
    'updraft.toml': [
      'name = "bench"',
      '[train]',
      'command = "sh train.sh {index}"',
      'files = ["train.sh"]',
      'outputs = ["model.pt"]',
      ofTrain,
      '[resources]',
      'memory = "1 GB"',
      resources,
      '[run]',
      'pool = "slurm"',
      ofRun,
      '',
    ].join('\n'),
  };
}
