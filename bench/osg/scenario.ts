import { readOsgJobs, transferParts, type OsgJob, type TransferPart } from '../../scripts/osg-jobs.ts';
import { seededRandom } from '@updraft/account/testing';

/** A slot on which a job's training is started. */
export interface Slot {
  /** Seconds that the entire training takes there. */
  computeSeconds: number;
  /** Seconds of training after which the pool evicts the job. */
  evictedAfter?: number;
  /** It reaches the caches, but not the internet. */
  offline?: boolean;
}

/** What the first cache does with a request: serve it, stall, or cut the connection after some seconds. */
export type CacheAction = { kind: 'serve' } | { kind: 'stall' | 'reset'; afterSeconds: number };

/** What the pool and the federation do to one job. Seconds are those of the published table. */
export interface JobScenario {
  row: OsgJob;
  /** Sites of its first and later matches: in the table, jobs continued elsewhere after an eviction. */
  firstSite: string;
  lastSite: string;
  /** Its slots, start by start; later starts get a typical slot of their site. */
  slots: Slot[];
  /** How long its transfer takes without trouble. */
  transferSeconds: number;
  /** What happens to its first requests at the first cache, in order. */
  actions: CacheAction[];
  /** The second cache has trouble at the same time. */
  secondCacheToo: boolean;
  /** How long the object is missing everywhere, from the job's first request. */
  missingSeconds: number;
  /** The delivery after its other troubles has a wrong byte. */
  corrupted: boolean;
  /** How long its holds for a broken transfer last until a user releases it; other holds are never released. */
  releasedAfter: number[];
}

export interface Scenario {
  jobs: JobScenario[];
  /** Training times of typical slots of a site, to choose from. */
  typical: Record<string, number[]>;
}

/** The stall timeout of the published variant's transfers. */
export const stallSeconds = 3600;
/** The time limit of an attempt. */
export const limitSeconds = 72_000;
/** Slower slots are exceptions, of which the table has five. */
const slowSeconds = 30_000;
/** The execution time of the job whose archive could not be opened. */
const brokenAtOnce = 33;
/** The table does not say how long the object was missing: half an hour. */
const burstSeconds = 1800;
/** Time for a new match between two tries of a transfer; the rest of the table's time, without the stall, was transfer. */
const rematchSeconds = 400;

/** The scenario of the published jobs, from the table; what that leaves open is drawn from the seed. */
export function osgScenario(seed: number): Scenario {
  const random = seededRandom(seed);
  const rows = readOsgJobs();
  const typical: Scenario['typical'] = {};
  for (const { outcome, sites, execute = 0 } of rows)
    if (outcome === 'success' && execute < slowSeconds) (typical[sites.at(-1) ?? ''] ??= []).push(execute);
  const good = rows.filter(({ outcome }) => outcome === 'success');
  return { jobs: rows.map((row) => jobScenario(row, { good, typical, random })), typical };
}

/** Numbers of the jobs that met the same burst of 404: they are neighbours in the table. */
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
  // The table has no site for jobs that failed immediately: draw one in the proportion of the others.
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
    // Stalls are correlated in time and place: one time in three the next cache stalls too.
    secondCacheToo: random() < 1 / 3,
    missingSeconds: isMissing ? burstSeconds : 0,
    corrupted: row.outcome === 'wrong_output' && row.stalls > 0 && row.execute === brokenAtOnce,
    releasedAfter: releases(row),
  };
}

const siteOf = ({ sites }: OsgJob): string => sites.at(-1) ?? '';

/** What a transfer met, request by request. */
function actionsOf(part: TransferPart, row: OsgJob): CacheAction[] {
  const { seconds, stalls, then } = part;
  const lost = seconds - (then === undefined ? row.lastTransfer : 0);
  const moving = stalls === 0 ? 0 : lost / stalls - stallSeconds - rematchSeconds;
  // If a stall cost more than the timeout and the longest possible transfer, the rest is unknown.
  const afterSeconds = Math.min(Math.max(0, moving), 0.9 * row.lastTransfer);
  const stalled = Array.from({ length: stalls }, (): CacheAction => ({ kind: 'stall', afterSeconds }));
  if (then === 'held') return [...stalled, { kind: 'reset', afterSeconds: row.lastTransfer / 2 }];
  return then === 'evicted' ? [...stalled, { kind: 'serve' }] : stalled;
}

/** The slots in the table. One that was too slow to finish in time is assumed to need this long. */
function slotsOf(row: OsgJob, typical: number, typicalAtFirst: number): Slot[] {
  const parts = transferParts(row);
  const evicted = parts.filter(({ then }) => then === 'evicted');
  const gap = row.transferTotal - parts.reduce((sum, { seconds }) => sum + seconds, 0);
  const before = evicted.map(({ executed }): Slot => ({
    computeSeconds: executed === undefined ? typicalAtFirst : (row.execute ?? typical),
    // The gap is execution and a wait; the eviction cannot have come after the end.
    evictedAfter: executed ?? Math.min(gap / evicted.length, 0.9 * typicalAtFirst),
  }));
  if (row.outcome === 'held_compute') return [{ computeSeconds: 1.25 * limitSeconds }];
  if (row.outcome === 'success') return [...before, { computeSeconds: row.execute ?? typical }];
  const offline = row.outcome === 'wrong_output' && row.execute !== brokenAtOnce;
  return [{ computeSeconds: typical, ...(offline && { offline }) }];
}

/** How long each hold of a broken transfer lasted: the table's gaps, or transfer time without a stall. */
function releases(row: OsgJob): number[] {
  const parts = transferParts(row);
  const holds = parts.filter(({ then }) => then === 'held');
  const gap = row.transferTotal - parts.reduce((sum, { seconds }) => sum + seconds, 0);
  return holds.map(({ seconds, stalls }) =>
    gap > 0 ? gap / holds.length : Math.max(0, seconds - stalls * (stallSeconds + rematchSeconds)),
  );
}

/** A random element of a list that is not empty. */
function oneOf<T>(all: readonly T[], random: () => number): T {
  const one = all[Math.floor(random() * all.length)];
  if (one === undefined) throw new RangeError('there is nothing to choose from');
  return one;
}
