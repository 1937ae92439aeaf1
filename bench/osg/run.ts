import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { accountFor, type Account } from './account.ts';
import { cutWorld } from './cut-world.ts';
import { makeDataset } from './dataset.ts';
import type { Setting } from './replay.ts';
import { cacheFolder, openPool } from './replay-pool.ts';
import { runSeedLeg, type Finished } from './seed-leg.ts';
import { missedGoals, sideBySide } from './side-by-side.ts';
import { runUpdraftLeg } from './updraft-leg.ts';
import { osgWorld } from './world.ts';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    /** Seconds of the table for one of the replay. */
    scale: { type: 'string', default: '240' },
    only: { type: 'string', multiple: true, default: ['seed', 'updraft'] },
    keep: { type: 'boolean', default: false },
  },
});

const [count, seed, scale] = [values.jobs, values.seed, values.scale].map(Number) as [number, number, number];
const started = Date.now();
const say = (line: string): void => console.error(`${((Date.now() - started) / 1000).toFixed(0)} s: ${line}`);
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => interrupted.abort(new Error('interrupted')));

await mkdir(cacheFolder, { recursive: true });
// Not in /tmp: HTCondor gives every job one of its own.
const folder = await mkdtemp(path.join(cacheFolder, 'osg-replay-'));
try {
  await using pool = await openPool(path.join(folder, 'pool'), scale, say, interrupted.signal);
  const all = osgWorld(seed);
  const setting: Setting = {
    world: count < all.jobs.length ? cutWorld(all, count) : all,
    dataset: makeDataset(path.join(folder, 'data'), seed),
    ...{ scale, folder, say, pool: pool.state, signal: interrupted.signal },
  };
  const ways: [string, string, (setting: Setting) => Promise<Finished>][] = [
    ['seed', 'as published', runSeedLeg],
    ['updraft', 'Updraft', runUpdraftLeg],
  ];
  const accounts: Record<string, Account> = {};
  for (const [key, name, leg] of ways) {
    if (!values.only.includes(key)) continue;
    say(`${name}: ${setting.world.jobs.length} jobs`);
    accounts[name] = await accountFor(setting, await leg(setting));
    say(`${name}: over`);
  }
  console.log(sideBySide(accounts, scale));
  const missed = accounts['Updraft'] === undefined ? [] : missedGoals(accounts['Updraft']);
  for (const goal of missed) console.log(`\nmissed: ${goal}`);
  process.exitCode = missed.length === 0 ? 0 : 1;
} finally {
  if (values.keep) say(`kept in ${folder}`);
  else await rm(folder, { recursive: true, force: true });
}
