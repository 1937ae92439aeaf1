import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { startFederation, type MiniFederation } from '../../src/mini/federation/federation.ts';
import type { MiniPoolState } from '../../src/mini/pool/pool.ts';
import type { Dataset } from './dataset.ts';
import { troubleOf } from './trouble-rules.ts';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);

/** What both ways are given. */
export interface Setting {
  scenario: Scenario;
  /** Seconds of the table for one of the replay. */
  scale: number;
  dataset: Dataset;
  pool: MiniPoolState;
  /** The folder for both ways' files; jobs must be able to see it. */
  folder: string;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** One way's own part of the world: its federation, full of trouble, and the slots' script. */
export interface Stage extends AsyncDisposable {
  /** Of this way. */
  folder: string;
  /** What REPLAY_WORLD names. */
  scenarioFolder: string;
  federation: MiniFederation;
}

/** Opens the federation, fills its caches, and then lets the trouble begin. */
export async function openStage(setting: Setting, name: string): Promise<Stage> {
  const { scenario, scale, dataset } = setting;
  const folder = path.join(setting.folder, name);
  const scenarioFolder = path.join(folder, 'world');
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
  return { folder, scenarioFolder, federation, [Symbol.asyncDispose]: () => federation.stop() };
}

/** As machine.py reads it: seconds of the replay. */
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

/** Asks the pool. */
export async function condor({ pool }: Setting, tool: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(path.join(pool.bin, tool), args, { cwd: pool.home, timeout: 60_000 });
  return stdout;
}

/** Takes the slots back that the script says, so many seconds after a training has begun on them. */
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
  /** How many slots the job had had when it got this one. */
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
    // A job that has left the slot by itself by now has another, which nobody takes back.
    const state = await condor(setting, 'condor_q', id, '-af', 'NumShadowStarts', 'JobStatus');
    if (state.trim() !== `${shadows} ${runningStatus}`) return;
    setting.say(`the pool takes back the slot of job ${id}`);
    await condor(setting, 'condor_vacate_job', id);
  } catch (error) {
    if (!signal.aborted) setting.say(String(error));
  }
}

/** HTCondor's number for it. */
const runningStatus = 2;
