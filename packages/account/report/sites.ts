import type { AttemptHistory, JobHistory, Activity } from '../history/history.ts';

/** Smaller transfers are just the scripts of a job that gets its data in another way. */
const minRateBytes = 1_000_000;
export const unknownSite = 'unknown';

/** The machine without the name of its pilot, which differs for each slot. */
export function hostOf(machine: string): string {
  const at = machine.lastIndexOf('@');
  return at === -1 ? machine : machine.slice(at + 1);
}

/** Whether any attempt has a site of its own. */
export const hasSites = (jobs: readonly Pick<JobHistory, 'attempts'>[]): boolean =>
  jobs.some(({ attempts }) => attempts.some(({ site }) => site !== ''));

/** The site of an attempt, or its machine if the log names no sites. */
export function siteNames(
  jobs: readonly Pick<JobHistory, 'attempts'>[],
): (attempt: Pick<AttemptHistory, 'site' | 'machine'>) => string {
  const named = hasSites(jobs);
  return ({ site, machine }) => (named ? site : hostOf(machine)) || unknownSite;
}

/** Without `wanted`, all of its time. */
export function secondsOf({ spans }: AttemptHistory, wanted?: Activity, orElse?: Activity): number {
  let millis = 0;
  for (const { doing, from, to } of spans)
    if (wanted === undefined || doing === wanted || doing === orElse) millis += to - from;
  return millis / 1000;
}

/** Bytes per second of an attempt's input, if known. */
export function transferRate(attempt: AttemptHistory): number[] {
  const { receivedBytes = 0, caches = [] } = attempt;
  const bytes = caches.reduce((sum, one) => sum + one.bytes, receivedBytes);
  if (bytes < minRateBytes) return noRate;
  const seconds = secondsOf(attempt, 'fetching');
  return seconds === 0 ? noRate : [bytes / seconds];
}

const noRate: number[] = [];
