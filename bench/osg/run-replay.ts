import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { accountFor, type Account } from './account.ts';
import { cutScenario } from './cut-scenario.ts';
import { makeDataset } from './dataset.ts';
import { cacheFolder, openPool } from './replay-pool.ts';
import type { Setting } from './replay.ts';
import { runSeedLeg, type Finished } from './seed-leg.ts';
import { runUpdraftLeg } from './updraft-leg.ts';
import { osgScenario } from './scenario.ts';

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
  /** Seconds of the table per second of the replay. */
  scale: number;
  /** Names of variants. */
  only: string[];
  /** Keep all files. */
  keep: boolean;
  agentFor?: Setting['agentFor'];
  say: (line: string) => void;
  signal: AbortSignal;
}

/** Runs the variants concurrently, each on its own pool, and returns their accounts by name. */
export async function runReplay(options: ReplayOptions): Promise<Map<string, Account>> {
  const { scale, seed, say } = options;
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
    return await runWays(chosen, { scenario, dataset, scale, folder, say, signal, agentFor });
  } finally {
    if (options.keep) say(`kept in ${folder}`);
    else await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
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
