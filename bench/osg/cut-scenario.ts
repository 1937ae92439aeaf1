import type { JobScenario, Scenario } from './scenario.ts';

/** Kinds of jobs, the most interesting first: a cut takes one of each in turn. */
const kinds: ((job: JobScenario) => boolean)[] = [
  ({ missingSeconds }) => missingSeconds > 0,
  ({ row }) => row.outcome === 'held_compute',
  ({ slots }) => slots.some(({ offline }) => offline === true),
  ({ corrupted }) => corrupted,
  ({ slots }) => slots.some(({ evictedAfter }) => evictedAfter !== undefined),
  ({ row, releasedAfter }) => row.outcome === 'success' && releasedAfter.length > 0,
  ({ row, releasedAfter }) => row.outcome === 'success' && row.stalls > 0 && releasedAfter.length === 0,
  ({ row }) => isPlain(row.outcome, row.stalls) && row.sites[0]?.startsWith('CHTC') === true,
  ({ row }) => isPlain(row.outcome, row.stalls) && row.sites[0]?.startsWith('PDX') === true,
  ({ row }) => isPlain(row.outcome, row.stalls) && row.sites[0]?.startsWith('GP') === true,
];

const isPlain = (outcome: string, stalls: number): boolean => outcome === 'success' && stalls === 0;

/** Max interruptions of a transfer in the cut. */
const maxActions = 2;

/** A few jobs of a scenario, of every kind, with few stalls: enough to see that everything works. */
export function cutScenario(scenario: Scenario, count: number): Scenario {
  const left = new Set(scenario.jobs);
  const chosen: JobScenario[] = [];
  while (chosen.length < count && left.size > 0)
    for (const isOfKind of kinds) {
      const job = [...left].find(isOfKind);
      if (job === undefined || chosen.length === count) continue;
      left.delete(job);
      chosen.push({
        ...job,
        actions: job.actions.slice(-maxActions),
        releasedAfter: job.releasedAfter.slice(-1),
      });
    }
  return { ...scenario, jobs: chosen };
}
