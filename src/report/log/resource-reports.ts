import { ascending, quantile } from '../statistics.ts';
import type { LoggedJob } from './history.ts';

/** What jobs asked for and what they used, over the attempts that ended well. */
export interface ResourceReport {
  name: string;
  unit: string | null;
  attempts: number;
  requestedMax: number;
  usedMedian: number;
  usedMax: number;
  /** What to ask for instead; null where the request fits. */
  suggested: number | null;
  advice: string;
}

const margin = 1.2;
/** Below this part of the request, asking for less finds slots sooner. */
const muchTooMuch = 0.5;

export function resourceReports(jobs: readonly LoggedJob[]): ResourceReport[] {
  const seen = new Map<string, { unit: string; used: number[]; requested: number }>();
  for (const { attempts } of jobs)
    for (const { ending, resources } of attempts) {
      if (ending !== 'success') continue;
      for (const { name, unit, usage, request } of resources) {
        const entry = seen.get(name) ?? { unit, used: [], requested: 0 };
        seen.set(name, entry);
        entry.used.push(usage);
        entry.requested = Math.max(entry.requested, request);
      }
    }
  return [...seen].map(([name, { unit, used, requested }]) =>
    resourceReport(name, unit === '' ? null : unit, ascending(used), requested),
  );
}

function resourceReport(
  name: string,
  unit: string | null,
  used: readonly number[],
  requestedMax: number,
): ResourceReport {
  const usedMax = used.at(-1) ?? 0;
  const usedMedian = quantile(used, 0.5) ?? 0;
  const fitting = Math.max(1, Math.ceil(usedMax * margin));
  const [suggested, advice] = advise(usedMax, requestedMax, fitting);
  return { name, unit, attempts: used.length, requestedMax, usedMedian, usedMax, suggested, advice };
}

function advise(used: number, requested: number, fitting: number): [number | null, string] {
  if (used > requested) return [fitting, 'more was used than asked for: ask for more'];
  if (used < requested * muchTooMuch && fitting < requested)
    return [fitting, 'ask for less: more slots will fit'];
  return [null, 'fits'];
}
