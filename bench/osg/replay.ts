import { insideHome } from '@updraft/mini/testing';
import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@updraft/base';
import { type MiniFederation, startFederation } from '@updraft/mini/federation';
import type { MiniPoolState } from '@updraft/mini/pool';
import type { Dataset } from './dataset.ts';
import { troubleOf } from './trouble-rules.ts';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);

/** The common setting of both variants. */
export interface Setting {
  scenario: Scenario;
  /** Seconds of the table per second of the replay. */
  scale: number;
  dataset: Dataset;
  pool: MiniPoolState;
  /** The agent for jobs of a pool, if it is not this installation's. */
  agentFor?: ((pool: MiniPoolState) => Promise<string>) | undefined;
  /** The folder for the files of both variants; jobs must be able to read it. */
  folder: string;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** A variant's part of the scenario: its federation, full of trouble, and the slots' script. */
export interface Stage extends AsyncDisposable {
  /** Of this variant. */
  folder: string;
  /** What the jobs read and write, as this machine names it. */
  scenarioFolder: string;
  /** The same folder as workers name it, for REPLAY_SCENARIO. */
  onWorker: string;
  federation: MiniFederation;
}

/** Starts the federation, fills its caches, and then starts the trouble. */
export async function openStage(setting: Setting, name: string): Promise<Stage> {
  const { scenario, scale, dataset } = setting;
  const folder = path.join(setting.folder, name);
  // A folder that all daemons of the pool share: workers see no other of this machine.
  const shared = path.join('run', `replay-${name}`);
  const scenarioFolder = path.join(setting.pool.home, shared);
  await mkdir(path.join(scenarioFolder, 'starts'), { recursive: true });
  await writeFile(path.join(scenarioFolder, 'slots.json'), JSON.stringify(slotScript(scenario, scale)));
  const federation = await startFederation({
    namespaces: [{ prefix: '/ospool', folder: dataset.published, public: true }],
    caches: 3,
    folder: path.join(folder, 'federation'),
  });
  for (const { httpUrl } of federation.caches)
    await (await fetch(`${httpUrl}/ospool/train.tar`)).arrayBuffer();
  for (const rule of troubleOf(scenario, { bytes: dataset.bytes, scale })) await federation.trouble.add(rule);
  return {
    folder,
    scenarioFolder,
    onWorker: path.join(insideHome, shared),
    federation,
    [Symbol.asyncDispose]: () => federation.stop(),
  };
}

/** For machine.py, in seconds of the replay. */
function slotScript({ jobs, typical }: Scenario, scale: number): object {
  return {
    typical: Object.fromEntries(
      Object.entries(typical).map(([site, seconds]) => [site, seconds.map((each) => each / scale)]),
    ),
    slots: jobs.map(({ slots }) =>
      slots.map(({ computeSeconds, offline = false }) => ({ seconds: computeSeconds / scale, offline })),
    ),
  };
}

/** Runs an HTCondor command on the pool. */
export async function condor({ pool }: Setting, tool: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(path.join(pool.bin, tool), args, { cwd: pool.home, timeout: 60_000 });
  return stdout;
}

/** Evicts jobs from their slots as scripted, a given time after their training has started. */
export async function evictAsScripted(
  setting: Setting,
  { scenarioFolder }: Stage,
  cluster: number,
  signal: AbortSignal,
): Promise<void> {
  const seen = new Set<string>();
  const { scenario, scale } = setting;
  while (!signal.aborted) {
    for (const name of await readdir(path.join(scenarioFolder, 'starts'))) {
      if (seen.has(name)) continue;
      seen.add(name);
      const [job = 0, start = 0, shadows = 0] = name.split('.').map(Number);
      const after = scenario.jobs[job]?.slots[start]?.evictedAfter;
      if (after === undefined) continue;
      void evict(setting, { id: `${cluster}.${job}`, shadows, seconds: after / scale }, signal);
    }
    await systemClock.sleep(200, signal).catch(() => undefined);
  }
}

interface Eviction {
  id: string;
  /** Number of the job's earlier slots. */
  shadows: number;
  seconds: number;
}

async function evict(
  setting: Setting,
  { id, shadows, seconds }: Eviction,
  signal: AbortSignal,
): Promise<void> {
  try {
    await systemClock.sleep(1000 * seconds, signal);
    // A job that has already left the slot has another one, from which it is not evicted.
    const state = await condor(setting, 'condor_q', id, '-af', 'NumShadowStarts', 'JobStatus');
    if (state.trim() !== `${shadows} ${runningStatus}`) return;
    setting.say(`the pool takes back the slot of job ${id}`);
    await condor(setting, 'condor_vacate_job', id);
  } catch (error) {
    if (!signal.aborted) setting.say(String(error));
  }
}

/** HTCondor's number of the start. */
const runningStatus = 2;
