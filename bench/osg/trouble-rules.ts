import { burstsOf, type CacheAction, type JobScenario, type Scenario } from './scenario.ts';

/** What the federation does to the jobs of a scenario, as rules for its trouble. */
export function troubleOf(scenario: Scenario, scaled: Scaled): string[] {
  return [
    ...burstsOf(scenario).flatMap((burst) => burstRules(scenario, burst, scaled)),
    ...scenario.jobs.flatMap((job, number) => jobRules(job, number, scaled)),
  ];
}

/** One span for all jobs of a burst, from the first request on; each job is refused at least once. */
function burstRules({ jobs }: Scenario, burst: number[], { scale }: Scaled): string[] {
  const seconds = Math.max(...burst.map((job) => jobs[job]?.missingSeconds ?? 0)) / scale;
  const from = burst.length === 1 ? String(burst[0]) : `{${burst.join(',')}}`;
  return [
    ...burst.map((job) => `cache-1: 404 from *.${job}#* first 1`),
    ...['caches', 'origin'].map(
      (server) => `${server}: 404 from *.${from}#* lasting ${Math.round(1000 * seconds)}ms`,
    ),
  ];
}

interface Scaled {
  /** Of the object that every job fetches. */
  bytes: number;
  /** Seconds of the table per second of the replay. */
  scale: number;
}

/** What it does to one job only. */
function jobRules(job: JobScenario, number: number, { bytes, scale }: Scaled): string[] {
  const from = `from *.${number}#*`;
  const rate = (bytes * scale) / job.transferSeconds;
  const after = (seconds: number): number =>
    Math.max(4096, Math.round((bytes * seconds) / job.transferSeconds));
  // One limit for all servers: it stands for the job's own network.
  const rules = [`all: limit ${Math.round(rate)}B/s ${from}`];
  const actions = actionRules(job.actions, after).map((rule) => `${rule} ${from}`);
  rules.push(...actions.map((rule) => `cache-1: ${rule}`));
  if (job.corrupted) {
    // A client that does not wait for the first cache gets the damaged delivery from the next.
    rules.push(`all: corrupt at 0 length 1KiB skip ${Math.max(1, job.actions.length)} first 1 ${from}`);
  } else if (job.secondCacheToo) rules.push(...actions.map((rule) => `cache-2: ${rule}`));
  return rules;
}

/**
 * Equal actions in a row become one rule. A rule skips the requests to which something else happens: for stalls, all
 * others before it; resets do not count requests that stall.
 */
function actionRules(actions: readonly CacheAction[], after: (seconds: number) => number): string[] {
  const rules: { kind: string; after: number; skip: number; first: number }[] = [];
  const passed = { stall: 0, reset: 0 };
  let open: (typeof rules)[number] | undefined;
  for (const action of actions) {
    if (action.kind === open?.kind) {
      open.first += 1;
      if (action.kind === 'reset') passed.stall += 1;
      continue;
    }
    open =
      action.kind === 'serve'
        ? undefined
        : { kind: action.kind, after: after(action.afterSeconds), skip: passed[action.kind], first: 1 };
    if (open !== undefined) rules.push(open);
    if (action.kind !== 'stall') passed.stall += 1;
    if (action.kind === 'serve') passed.reset += 1;
  }
  return rules.map(({ kind, skip, first, ...rule }) => {
    const skipped = skip === 0 ? '' : ` skip ${skip}`;
    return `${kind} after ${rule.after}${skipped} first ${first}`;
  });
}
