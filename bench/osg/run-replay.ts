import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { accountFor, type Account } from './account.ts';
import { cutScenario } from './cut-scenario.ts';
import { makeDataset } from './dataset.ts';
import { cacheFolder, openPool } from './replay-pool.ts';
import type { Setting } from './replay.ts';
import { runSeedLeg, type Finished } from './seed-leg.ts';
import { runUpdraftLeg } from './updraft-leg.ts';
import { limitSeconds, osgScenario, type Scenario } from './scenario.ts';
import { calibratedScale } from '../calibrated-scale.ts';

interface Way {
  name: string;
  run: (setting: Setting) => Promise<Finished>;
}

/** The two variants, by the names that select them. */
const ways: Record<string, Way> = {
  seed: { name: 'as published', run: runSeedLeg },
  updraft: { name: 'Updraft', run: runUpdraftLeg },
};

export interface ReplayOptions {
  /** If fewer than all: a cut of that many, of every kind. */
  jobs: number;
  /** Seed for what the table leaves open. */
  seed: number;
  /** Seconds of the table per second of the replay; by default as many as this machine can carry. */
  scale?: number | undefined;
  /** Names of variants. */
  only: string[];
  /** Keep all files. */
  keep: boolean;
  agentFor?: Setting['agentFor'];
  say: (line: string) => void;
  signal: AbortSignal;
}

export interface Replayed {
  /** By the variants' names. */
  accounts: Map<string, Account>;
  scale: number;
}

/** Runs the variants concurrently, each on its own pool. */
export async function runReplay(options: ReplayOptions): Promise<Replayed> {
  const { seed, say } = options;
  const chosen = options.only.map((key) => {
    const way = ways[key];
    if (way === undefined) throw new Error(`there is no way "${key}": ${Object.keys(ways).join(' or ')}`);
    return way;
  });
  await mkdir(cacheFolder, { recursive: true });
  // Not in /tmp: HTCondor gives every job its own.
  const folder = await mkdtemp(path.join(cacheFolder, 'osg-replay-'));
  try {
    const all = osgScenario(seed);
    const scenario = options.jobs < all.jobs.length ? cutScenario(all, options.jobs) : all;
    const dataset = makeDataset(path.join(folder, 'data'), seed);
    const { signal, agentFor } = options;
    const common = { scenario, dataset, folder, say, signal, agentFor };
    const scale = options.scale ?? (await chosenScale(all, common));
    return { accounts: await runWays(chosen, { ...common, scale }), scale };
  } finally {
    if (options.keep) say(`kept in ${folder}`);
    else await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** A run takes 22 minutes at the fastest, and under two hours at the slowest. */
const scales = { min: 25, max: 110 };
const maxOverhead = 0.015;

/** As fast as starting and ending an attempt leaves time: measured with jobs that have nothing to do. */
async function chosenScale(all: Scenario, common: Omit<Setting, 'pool' | 'scale'>): Promise<number> {
  const mean = (values: number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
  const lengths = all.jobs.map(
    ({ transferSeconds, slots }) =>
      transferSeconds + Math.min(limitSeconds, slots.at(-1)?.computeSeconds ?? 0),
  );
  const nothing = { transferSeconds: 1, slots: [{ computeSeconds: 1 }], actions: [], releasedAfter: [] };
  const good = all.jobs.filter(({ row: { outcome, stalls } }) => outcome === 'success' && stalls === 0);
  const jobs = good.slice(0, 8).map((job) => ({ ...job, ...nothing, secondCacheToo: false }));
  const cost = async (): Promise<number> => {
    const way = { name: 'calibration', run: runUpdraftLeg };
    const folder = path.join(common.folder, way.name);
    await mkdir(folder);
    const scenario = { ...all, jobs };
    const { report, pauses } = await runWay(way, { ...common, folder, scenario, scale: scales.max });
    return (report.slotTotalSeconds - pauses) / report.attempts;
  };
  const { say } = common;
  return calibratedScale({ cost, attemptSeconds: mean(lengths), maxOverhead, scales, say });
}

/** If one variant fails, the other is stopped too. */
async function runWays(chosen: Way[], common: Omit<Setting, 'pool'>): Promise<Map<string, Account>> {
  const failed = new AbortController();
  const signal = AbortSignal.any([common.signal, failed.signal]);
  const running = chosen.map(async (way) => {
    try {
      return [way.name, await runWay(way, { ...common, signal })] as const;
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(running);
  return new Map(await Promise.all(running));
}

async function runWay({ name, run }: Way, common: Omit<Setting, 'pool'>): Promise<Account> {
  const { folder, scale, say, signal, scenario } = common;
  await using pool = await openPool(await mkdtemp(path.join(folder, 'pool-')), scale, say, signal);
  say(`${name}: ${scenario.jobs.length} jobs`);
  const setting = { ...common, pool: pool.state };
  const account = await accountFor(setting, await run(setting));
  say(`${name}: over`);
  return account;
}
