import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { accountFor, type Account } from './account.ts';
import { cutWorld } from './cut-world.ts';
import { makeDataset } from './dataset.ts';
import { cacheFolder, openPool } from './replay-pool.ts';
import type { Setting } from './replay.ts';
import { runSeedLeg, type Finished } from './seed-leg.ts';
import { runUpdraftLeg } from './updraft-leg.ts';
import { osgWorld } from './world.ts';

/** The two ways, by the names under which they are chosen. */
const ways: Record<string, { name: string; run: (setting: Setting) => Promise<Finished> }> = {
  seed: { name: 'as published', run: runSeedLeg },
  updraft: { name: 'Updraft', run: runUpdraftLeg },
};

export interface ReplayOptions {
  /** Less than all: a cut of as many, of every kind. */
  jobs: number;
  /** For what the table leaves open. */
  seed: number;
  /** Seconds of the table for one of the replay. */
  scale: number;
  only: string[];
  /** Both ways at once, where the figures do not matter. */
  together: boolean;
  /** Leave all files. */
  keep: boolean;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** Runs the ways on a pool of their own and accounts for them, by name. */
export async function runReplay(options: ReplayOptions): Promise<Map<string, Account>> {
  const { scale, seed, say, signal } = options;
  await mkdir(cacheFolder, { recursive: true });
  // Not in /tmp: HTCondor gives every job one of its own.
  const folder = await mkdtemp(path.join(cacheFolder, 'osg-replay-'));
  try {
    await using pool = await openPool(path.join(folder, 'pool'), scale, say, signal);
    const all = osgWorld(seed);
    const setting: Setting = {
      world: options.jobs < all.jobs.length ? cutWorld(all, options.jobs) : all,
      dataset: makeDataset(path.join(folder, 'data'), seed),
      ...{ scale, folder, say, pool: pool.state, signal },
    };
    return await runWays(setting, options);
  } finally {
    if (options.keep) say(`kept in ${folder}`);
    else await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function runWays(
  setting: Setting,
  { only, together, say }: ReplayOptions,
): Promise<Map<string, Account>> {
  const accounts = new Map<string, Account>();
  const running: Promise<void>[] = [];
  for (const key of only) {
    const way = ways[key];
    if (way === undefined) throw new Error(`there is no way "${key}": ${Object.keys(ways).join(' or ')}`);
    say(`${way.name}: ${setting.world.jobs.length} jobs`);
    const done = way.run(setting).then(async (finished) => {
      accounts.set(way.name, await accountFor(setting, finished));
      say(`${way.name}: over`);
    });
    running.push(done);
    if (!together) await done;
  }
  await Promise.all(running);
  return accounts;
}
