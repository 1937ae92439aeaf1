import { readOsgJobs, transferParts, type OsgJob, type TransferPart } from '../../scripts/osg-jobs.ts';
import { oneOf, randomFrom } from './random.ts';

/** How a slot computes that a job's training is started on. */
export interface Slot {
  /** Seconds that the whole training takes there. */
  computeSeconds: number;
  /** The pool takes it back after so many seconds of training. */
  evictedAfter?: number;
  /** The internet cannot be reached from it; the caches can. */
  offline?: boolean;
}

/** What the first cache does to a request: serve it, go silent, or cut the connection, after so many seconds. */
export type CacheAction = { kind: 'serve' } | { kind: 'stall' | 'reset'; afterSeconds: number };

/** What the pool and the federation do to one job. Seconds are those of the published table. */
export interface JobScenario {
  row: OsgJob;
  /** Where it is matched at first, and where later: in the table, jobs went on elsewhere after an eviction. */
  firstSite: string;
  lastSite: string;
  /** What it gets there, start after start; later starts get a usual slot of the site they are on. */
  slots: Slot[];
  /** How long the data takes to this job when nothing goes wrong. */
  transferSeconds: number;
  /** What happens to its first requests at the first cache, in this order. */
  actions: CacheAction[];
  /** The second cache has trouble at the same time. */
  secondCacheToo: boolean;
  /** How long nobody has the object, from when the job first asks. */
  missingSeconds: number;
  /** The delivery that comes after its other troubles has a wrong byte. */
  corrupted: boolean;
  /** How long its holds for a broken transfer last until somebody lets it go on; there is nobody for other holds. */
  releasedAfter: number[];
}

export interface Scenario {
  jobs: JobScenario[];
  /** What a usual slot of a site takes for the training, to be chosen from. */
  typical: Record<string, number[]>;
}

/** The time without a byte after which the first way's transfer gives up. */
export const stallSeconds = 3600;
/** The time an attempt may compute. */
export const limitSeconds = 72_000;
/** Slots that need so long are the exception that the table has five of. */
const slowSeconds = 30_000;
/** The execution of the job whose archive could not be opened. */
const brokenAtOnce = 33;
/** The table does not say how long the object was missing: half an hour. */
const burstSeconds = 1800;
/** Between two tries of a transfer lies a new match; what the table has beyond it and the silence was transfer. */
const rematchSeconds = 400;

/** The world of the published jobs: what the table says is in it, and what it leaves open is drawn by the seed. */
export function osgScenario(seed: number): Scenario {
  const random = randomFrom(seed);
  const rows = readOsgJobs();
  const typical: Scenario['typical'] = {};
  for (const { outcome, sites, execute = 0 } of rows)
    if (outcome === 'success' && execute < slowSeconds) (typical[sites.at(-1) ?? ''] ??= []).push(execute);
  const good = rows.filter(({ outcome }) => outcome === 'success');
  return { jobs: rows.map((row) => jobScenario(row, { good, typical, random })), typical };
}

/** Numbers of the jobs that met the same burst of 404: they lie side by side in the table. */
export function burstsOf({ jobs }: Scenario): number[][] {
  const bursts: number[][] = [];
  for (const [number, { missingSeconds }] of jobs.entries()) {
    if (missingSeconds === 0) continue;
    const last = bursts.at(-1);
    if (last?.at(-1) === number - 1) last.push(number);
    else bursts.push([number]);
  }
  return bursts;
}

interface Draw {
  good: OsgJob[];
  typical: Scenario['typical'];
  random: () => number;
}

function jobScenario(row: OsgJob, { good, typical, random }: Draw): JobScenario {
  // Of jobs that failed at once the table has no site: one in the proportion of the others.
  const sites = row.sites.length > 0 ? row.sites : [siteOf(oneOf(good, random))];
  const [firstSite = '', lastSite = ''] = [sites[0], sites.at(-1)];
  const like = oneOf(
    good.filter((other) => siteOf(other) === lastSite),
    random,
  );
  const isMissing = row.outcome === 'held_transfer';
  return {
    row,
    firstSite,
    lastSite,
    slots: slotsOf(row, oneOf(typical[lastSite] ?? [], random), oneOf(typical[firstSite] ?? [], random)),
    transferSeconds: isMissing ? like.lastTransfer : row.lastTransfer,
    actions: isMissing ? [] : transferParts(row).flatMap((part) => actionsOf(part, row)),
    // Stalls come together in time and place: one time in three the next cache has them too.
    secondCacheToo: random() < 1 / 3,
    missingSeconds: isMissing ? burstSeconds : 0,
    corrupted: row.outcome === 'wrong_output' && row.stalls > 0 && row.execute === brokenAtOnce,
    releasedAfter: releases(row),
  };
}

const siteOf = ({ sites }: OsgJob): string => sites.at(-1) ?? '';

/** What a transfer met, request after request. */
function actionsOf(part: TransferPart, row: OsgJob): CacheAction[] {
  const { seconds, stalls, then } = part;
  const lost = seconds - (then === undefined ? row.lastTransfer : 0);
  const moving = stalls === 0 ? 0 : lost / stalls - stallSeconds - rematchSeconds;
  // A stall that cost more than silence and the most that can have been transferred: nobody knows what the rest was.
  const afterSeconds = Math.min(Math.max(0, moving), 0.9 * row.lastTransfer);
  const stalled = Array.from({ length: stalls }, (): CacheAction => ({ kind: 'stall', afterSeconds }));
  if (then === 'held') return [...stalled, { kind: 'reset', afterSeconds: row.lastTransfer / 2 }];
  return then === 'evicted' ? [...stalled, { kind: 'serve' }] : stalled;
}

/** The slots that the table tells of. One that was too slow to be done in time would have needed this long. */
function slotsOf(row: OsgJob, typical: number, typicalAtFirst: number): Slot[] {
  const parts = transferParts(row);
  const evicted = parts.filter(({ then }) => then === 'evicted');
  const gap = row.transferTotal - parts.reduce((sum, { seconds }) => sum + seconds, 0);
  const before = evicted.map(({ executed }): Slot => ({
    computeSeconds: executed === undefined ? typicalAtFirst : (row.execute ?? typical),
    // The gap is execution and a wait; no eviction can have come after the end.
    evictedAfter: executed ?? Math.min(gap / evicted.length, 0.9 * typicalAtFirst),
  }));
  if (row.outcome === 'held_compute') return [{ computeSeconds: 1.25 * limitSeconds }];
  if (row.outcome === 'success') return [...before, { computeSeconds: row.execute ?? typical }];
  const offline = row.outcome === 'wrong_output' && row.execute !== brokenAtOnce;
  return [{ computeSeconds: typical, ...(offline && { offline }) }];
}

/** How long each hold of a broken transfer lasted; the table's gaps, or what it counts as transfer without a stall. */
function releases(row: OsgJob): number[] {
  const parts = transferParts(row);
  const holds = parts.filter(({ then }) => then === 'held');
  const gap = row.transferTotal - parts.reduce((sum, { seconds }) => sum + seconds, 0);
  return holds.map(({ seconds, stalls }) =>
    gap > 0 ? gap / holds.length : Math.max(0, seconds - stalls * (stallSeconds + rematchSeconds)),
  );
}
