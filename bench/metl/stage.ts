import { randomBytes } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { type MiniFederation, startFederation } from '@updraft/mini/federation';
import type { MiniPoolState } from '@updraft/mini/pool';
import { insideHome } from '@updraft/mini/testing';
import { condor, type Setting as OsgSetting } from '../osg/replay.ts';
import type { Scenario } from './scenario.ts';

/** What both ways have in common. */
export interface Setting {
  scenario: Scenario;
  models: number;
  epochs: number;
  /** Seconds of METL per second here. */
  scale: number;
  seed: number;
  folder: string;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** A way's pool, its federation with the data, and the folder in which its trainings read how their slots go. */
export interface Stage extends AsyncDisposable {
  pool: MiniPoolState;
  folder: string;
  federation: MiniFederation;
  /** METL_SCENARIO, as workers name it. */
  onWorker: string;
}

const dataBytes = 2_000_000;

export async function openStage(setting: Setting, pool: MiniPoolState, name: string): Promise<Stage> {
  const folder = path.join(setting.folder, name);
  const shared = path.join('run', `metl-${name}`);
  const place = path.join(pool.home, shared);
  for (const part of ['starts', 'lost']) await mkdir(path.join(place, part), { recursive: true });
  await writeFile(path.join(place, 'scenario.json'), JSON.stringify(scaled(setting)));
  const published = path.join(folder, 'published');
  await mkdir(published, { recursive: true });
  await writeFile(path.join(published, 'data.bin'), randomBytes(dataBytes));
  const federation = await startFederation({
    namespaces: [{ prefix: '/metl', folder: published, public: true }],
    caches: 2,
    folder: path.join(folder, 'federation'),
  });
  const over = new AbortController();
  void takeBack(setting, pool, path.join(place, 'lost'), over.signal);
  return {
    ...{ pool, folder, federation, onWorker: path.join(insideHome, shared) },
    [Symbol.asyncDispose]: () => {
      over.abort();
      return federation.stop();
    },
  };
}

function scaled({ scenario, scale, seed }: Setting): object {
  const sites = Object.entries(scenario.sites).map(([name, { done, first, later }]) => {
    const fates = (all: typeof first) => all.map(([status, seconds]) => [status, seconds / scale]);
    return [
      name,
      { done: done.map((one) => one / scale), first: fates(first), later: fates(later) },
    ] as const;
  });
  return { seed, sites: Object.fromEntries<object>(sites) };
}

/** Takes slots from jobs whose time there is over: the pool evicts, and owners removed what they gave up. */
async function takeBack(
  { say, signal }: Setting,
  pool: MiniPoolState,
  lost: string,
  over: AbortSignal,
): Promise<void> {
  const seen = new Set<string>();
  const either = AbortSignal.any([signal, over]);
  while (!either.aborted) {
    for (const name of await readdir(lost).catch(() => [])) {
      if (seen.has(name)) continue;
      seen.add(name);
      const [cluster = '', proc = '', , , status] = name.split('.');
      const job = `${cluster}.${proc}`;
      // A run of Updraft is one cluster, whose owner has nobody who would remove one of its jobs.
      const isRemoved = status !== 'evicted' && pool.home.includes(publishedName);
      const tool = isRemoved ? 'condor_rm' : 'condor_vacate_job';
      await condorOn(pool, tool, job).catch((error: unknown) => say(String(error)));
    }
    await systemClock.sleep(200, either).catch(() => undefined);
  }
}

/** Part of the name of its pool's folder. */
export const publishedName = 'published';

export const condorOn = (pool: MiniPoolState, tool: string, ...args: string[]): Promise<string> =>
  condor({ pool } as OsgSetting, tool, ...args);
