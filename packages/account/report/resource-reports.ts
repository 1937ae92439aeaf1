import { afterExceeding, counted, withHeadroom } from '@updraft/base';
import type { Cause } from '../codes/causes.ts';
import type { JobHistory } from '../history/history.ts';
import { ascending, quantile } from '../statistics/describe.ts';

/** Requests and use of a resource, over the attempts that succeeded and those that exceeded their request. */
export interface ResourceReport {
  name: string;
  unit: string | null;
  attempts: number;
  requestedMax: number;
  usedMedian: number;
  usedMax: number;
  /** What to request; null if the requests fit or nothing is known. */
  suggested: number | null;
  advice: string;
}

/** Below this share of the request, a smaller request finds slots sooner. */
const excessShare = 0.5;
/**
 * Resources that a job requests by amount, each with an amount (in the units of HTCondor's tables: MB, KB) below which
 * a smaller request gains nothing. Other rows, such as `Gpus (Average)` or a pool's own, do not measure the request.
 */
const negligible: Record<string, number> = { Cpus: 1, Memory: 512, Disk: 1_000_000 };

/** Causes that prove that a request was too small, whatever other attempts used. */
const exceededResource: Partial<Record<Cause, string>> = {
  'memory-exceeded': 'Memory',
  'disk-exceeded': 'Disk',
};

/**
 * Attempts that exceeded a request, the largest such request, infinite if no event names it, and what suffices for
 * each.
 */
interface Exceeded {
  attempts: number;
  requested: number;
  enough: number;
}

const none: Exceeded = { attempts: 0, requested: 0, enough: 0 };

interface Observed {
  unit: string;
  used: number[];
  requested: number;
}

export function resourceReports(jobs: readonly JobHistory[]): ResourceReport[] {
  const observed = new Map<string, Observed>();
  const exceeded = new Map<string, Exceeded>();
  for (const { attempts } of jobs)
    for (const { ending, cause, resources } of attempts) {
      const wanted = cause === undefined ? undefined : exceededResource[cause];
      if (wanted !== undefined) {
        const { attempts: count, requested, enough } = exceeded.get(wanted) ?? none;
        const { request = Infinity, usage = 0 } = resources.find(({ name }) => name === wanted) ?? {};
        exceeded.set(wanted, {
          attempts: count + 1,
          requested: Math.max(requested, request),
          enough: Math.max(enough, afterExceeding(usage, request)),
        });
      }
      for (const { name, unit, usage, request } of resources) {
        // Zero means that the attempt was too short to be measured.
        if (usage === 0 || !Object.hasOwn(negligible, name) || (ending !== 'success' && name !== wanted))
          continue;
        const entry = observed.get(name) ?? { unit, used: [], requested: 0 };
        observed.set(name, entry);
        entry.used.push(usage);
        entry.requested = Math.max(entry.requested, request);
      }
    }
  return [...observed].map(([name, entry]) => resourceReport(name, entry, exceeded.get(name) ?? none));
}

function resourceReport(
  name: string,
  { unit, used, requested }: Observed,
  exceeded: Exceeded,
): ResourceReport {
  const sorted = ascending(used);
  const usedMax = sorted.at(-1) ?? 0;
  const [suggested, advice] = advise(usedMax, requested, exceeded, negligible[name] ?? 1);
  return {
    name,
    unit: unit === '' ? null : unit,
    attempts: used.length,
    requestedMax: requested,
    usedMedian: quantile(sorted, 0.5) ?? 0,
    usedMax,
    suggested,
    advice,
  };
}

function advise(used: number, requested: number, exceeded: Exceeded, min: number): [number | null, string] {
  const fitting = Math.max(1, Math.ceil(withHeadroom(used)));
  if (exceeded.attempts > 0) {
    const who = counted(exceeded.attempts, 'attempt');
    if (used <= requested && exceeded.requested < requested)
      return [Math.max(requested, exceeded.requested * 2), `${who} with a smaller request ran out`];
    const enough = Math.max(afterExceeding(used, requested), exceeded.enough);
    return [enough === Infinity ? null : Math.ceil(enough), `${who} ran out: request more`];
  }
  if (used > requested) return [fitting, 'more used than requested: request more'];
  const less = Math.max(fitting, min);
  if (used < requested * excessShare && less < requested) return [less, 'request less'];
  return [null, 'fits'];
}
