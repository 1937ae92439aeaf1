import { mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { type MiniPoolState, rootFolder, sites as ofTheTable, startPool, stopPool } from '@updraft/mini/pool';

/** Slots of each site, in the proportion of the published jobs: enough that no job has to wait for one. */
const slots: Record<string, number> = {
  'CHTC-Spark-CE1': 40,
  'PDX-Coeus-CE1': 60,
  'GP-ARGO-ksu-backfill': 24,
};

export const cacheFolder = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'),
  'updraft',
);

const scenario = {
  clock: systemClock,
  kill: (pid: number, signal: NodeJS.Signals): void => {
    try {
      process.kill(pid, signal);
    } catch {
      // gone already
    }
  },
};

/** A real HTCondor pool with the three sites, or these, and enough slots, stopped when it is disposed of. */
export async function openPool(
  home: string,
  scale: number,
  say: (line: string) => void,
  signal: AbortSignal,
  sites = ofTheTable.map((site) => ({ ...site, cpus: slots[site.name] ?? 1 })),
): Promise<{ state: MiniPoolState } & AsyncDisposable> {
  const root = process.env['UPDRAFT_TEST_POOL_ROOT'] ?? (await rootFolder({ cacheFolder, say, signal }));
  await mkdir(home, { recursive: true });
  const state = await startPool({
    root,
    home,
    signal,
    ...scenario,
    sites: sites.map((site) => ({ ...site, memoryMegabytes: 512 * site.cpus })),
    config: [
      // Event times with milliseconds: spans are a few seconds long.
      'DEFAULT_USERLOG_FORMAT_OPTIONS = UTC SUB_SECOND',
      // Not needed here, and thirty jobs that report their usage every second cost a core.
      ...['STARTER_UPDATE_INTERVAL', 'SHADOW_QUEUE_UPDATE_INTERVAL'].map((knob) => `${knob} = 30`),
      // Starts are spread: on two cores, agents that start at the same time would wait for each other on their slots.
      'JOB_START_COUNT = 1',
      'JOB_START_DELAY = 2',
      // The default vacate time: ten minutes.
      `MachineMaxVacateTime = ${Math.max(3, Math.ceil(600 / scale))}`,
    ],
  });
  return { state, [Symbol.asyncDispose]: () => stopPool(state, scenario) };
}
