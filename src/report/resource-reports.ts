import { counted } from '../base/counted.ts';
import type { Cause } from '../codes/causes.ts';
import type { JobHistory } from '../history/history.ts';
import { ascending, quantile } from './statistics.ts';

/** What jobs asked for and what they used, over the attempts that ended well and those that ended for want of it. */
export interface ResourceReport {
  name: string;
  unit: string | null;
  attempts: number;
  requestedMax: number;
  usedMedian: number;
  usedMax: number;
  /** What to ask for; null where the requests fit, or nobody knows. */
  suggested: number | null;
  advice: string;
}

const margin = 1.2;
/** Below this part of the request, asking for less finds slots sooner. */
const excessShare = 0.5;
/**
 * The resources that a job asks for by amount, and how much of each, in the units of HTCondor's tables (MB, KB), is free
 * on any machine: nobody gains by asking for less. Other rows, such as `Gpus (Average)` or a pool's own, are left out:
 * what they count is not what was asked for.
 */
const negligible: Record<string, number> = { Cpus: 1, Memory: 512, Disk: 1_000_000 };

/** Causes by which an attempt proves that its request was too small, whatever the others used. */
const exceededResource: Partial<Record<Cause, string>> = {
  'memory-exceeded': 'Memory',
  'disk-exceeded': 'Disk',
};

/** Attempts that ended for want of a resource, and the most they had asked for: any amount, where no event says. */
interface Exceeded {
  attempts: number;
  requested: number;
}

const none: Exceeded = { attempts: 0, requested: 0 };

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
        const { attempts: count, requested } = exceeded.get(wanted) ?? none;
        const request = resources.find(({ name }) => name === wanted)?.request ?? Infinity;
        exceeded.set(wanted, { attempts: count + 1, requested: Math.max(requested, request) });
      }
      for (const { name, unit, usage, request } of resources) {
        // Nothing used is nothing measured: it was too short.
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
  const fitting = Math.max(1, Math.ceil(used * margin));
  if (exceeded.attempts > 0) {
    const who = counted(exceeded.attempts, 'attempt');
    if (used <= requested && exceeded.requested < requested)
      return [requested, `fits; ${who} that asked for less ended for want of it`];
    // What was used up to the limit does not say how much would have been enough.
    const twice = exceeded.requested === Infinity ? null : requested * 2;
    return [used > requested ? fitting : twice, `${who} ended for want of it: ask for more`];
  }
  if (used > requested) return [fitting, 'more was used than asked for: ask for more'];
  const less = Math.max(fitting, min);
  if (used < requested * excessShare && less < requested) return [less, 'ask for less'];
  return [null, 'fits'];
}
