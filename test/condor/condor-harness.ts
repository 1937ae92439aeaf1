import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { type Env, isThere, systemClock } from '@updraft/base';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { JobState, RunState } from '@updraft/account/journal';
import { openPool } from '../../src/pool/open-pool.ts';
import type { Pool } from '../../src/pool/pool.ts';
import { submitRun } from '../../src/run/submit-run.ts';
import { compileCache } from '../compile-cache.ts';
import { hangMs } from '../hang-limit.ts';
import { agentOnWorkers, type MeetingPlace, meetingPlace, poolCache, poolRoot, testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { untilState } from '../until-state.ts';
import { ownPool } from './own-pool.ts';

const repository = path.resolve(import.meta.dirname, '../..');

/** A user's project at the shared pool's access point. */
export interface CondorHarness {
  folder: string;
  env: Env;
  pool: Pool;
  /** Runs one of HTCondor's commands. */
  tool(name: string, ...args: string[]): Promise<string>;
  /** Attributes of jobs, a line each, whether they wait, run or have left the queue. */
  ask(constraint: string, ...attributes: string[]): Promise<string[]>;
  /** Waits until the queue has this of such jobs: it follows the event log, which says what happens, a moment later. */
  untilQueue(expected: string, constraint: string, ...attributes: string[]): Promise<void>;
  submit(): Promise<string>;
  /** The first state that satisfies, or the last one. */
  until(run: string, satisfies: (state: RunState) => boolean): Promise<RunState>;
  finish(run: string): Promise<RunState>;
  /** Where its jobs find what a test puts there while they run. */
  meetingPlace(): Promise<MeetingPlace>;
}

interface HarnessOptions {
  inside?: string;
  env?: Env;
  sends?: boolean;
  /** Lines for a pool of its own, with one site. */
  config?: string[];
}

/** Skips the test and returns undefined if there is no pool or no agent. With `sends`, jobs unpack the agent as users' do. */
export async function condorHarness(
  t: TestContext,
  files: Record<string, string>,
  { inside = '.', env: more = {}, sends = false, config }: HarnessOptions = {},
): Promise<CondorHarness | undefined> {
  const built =
    process.env['UPDRAFT_AGENT'] ?? path.join(repository, `dist/updraft-agent-linux-${os.arch()}`);
  if (!(await isThere(built))) {
    t.skip(`the agent is not built: ${built} is missing`);
    return undefined;
  }
  const root = config && (await poolRoot());
  const own = root !== undefined && 'folder' in root ? await ownPool(t, root.folder, config) : undefined;
  const state = own?.state ?? (await testPool(t));
  if (state === undefined) return undefined;
  const named = Object.entries(files).map(([name, text]) => [path.join(inside, name), text] as const);
  const folder = path.join(await temporaryFolder(t, Object.fromEntries(named)), inside);
  const env: Env = {
    PATH: `${state.bin}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    XDG_CACHE_HOME: poolCache,
    NODE_COMPILE_CACHE: compileCache,
    UPDRAFT_AGENT: sends ? built : await agentOnWorkers(state, built),
    ...more,
  };
  const kill = (pid: number, signal: NodeJS.Signals): void => void process.kill(pid, signal);
  const start = { self: [], env, clock: systemClock, pid: process.pid, kill };
  const pool = openPool('condor', start);
  const tool: CondorHarness['tool'] = async (name, ...args) => {
    const { stdout } = await promisify(execFile)(path.join(state.bin, name), args, { cwd: folder });
    return stdout.trim();
  };
  return {
    folder,
    env,
    pool,
    tool,
    async ask(constraint, ...attributes) {
      // The queue first: a job that leaves it meanwhile is in the history, or for a moment in both.
      const args = ['-constraint', constraint, '-af:j', ...attributes];
      const lines = [await tool('condor_q', ...args), await tool('condor_history', ...args)];
      const rows = lines.flatMap((text) => text.split('\n')).filter((line) => line !== '');
      // After HTCondor's id; of two of them the later.
      return [...new Map(rows.map((row) => [row.split(' ')[0], row.slice(row.indexOf(' ') + 1)])).values()];
    },
    async untilQueue(expected, constraint, ...attributes) {
      const signal = AbortSignal.timeout(hangMs);
      for (;;) {
        const printed = await tool('condor_q', '-constraint', constraint, '-af', ...attributes);
        if (printed === expected) return;
        await systemClock.sleep(250, signal).catch(() => assert.equal(printed, expected));
      }
    },
    async submit() {
      const plan = await loadPlan(folder, { cwd: folder });
      const { folder: run } = await submitRun(plan, pool, {
        isNew: true,
        version: '0.0.0',
        clock: systemClock,
        pid: process.pid,
      });
      t.after(() =>
        promisify(execFile)(path.join(state.bin, 'condor_rm'), [
          '-constraint',
          `UpdraftRun == "${path.basename(run)}"`,
        ]).catch(() => undefined),
      );
      return run;
    },
    until: untilState,
    finish: (run) => untilState(run, () => false),
    meetingPlace: () => meetingPlace(state.home),
  };
}

/** A file of the user that limits the idle jobs of a run on the shared pool. */
export const limitIdle = (max: number): Record<string, string> => ({
  '.config/updraft/pools/mini.toml': `[limits]\nidle = ${max}\n`,
});

/** The only job of a run. */
export const onlyJob = ({ jobs }: RunState): JobState => jobs[0]!;

export const result = (run: string, name: string, job = '0000'): Promise<string> =>
  readFile(path.join(run, 'results', job, name), 'utf8');
