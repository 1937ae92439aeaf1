import type { AttemptHistory, Ending } from '../history/history.ts';
import type { JobState } from '../journal/state.ts';
import { hostOf, secondsOf } from '../report/sites.ts';
import { ascending, quantile } from '../statistics/describe.ts';

/** Slots that a scheduler can distinguish, and what they were worth to earlier attempts. */
export interface Place {
  /** The site, or the machine where a pool names no sites; empty for every place with this GPU. */
  site: string;
  /** The model of its GPUs; empty if it has none. */
  gpu: string;
  attempts: number;
  /** Epochs that lasted, per slot time, against those of all attempts: 1 is the mean. */
  worth: number;
}

/** These say nothing about the place. */
const saysNothing: ReadonlySet<Ending> = new Set(['removed', 'wrong-output', 'running']);

/** Little is known of a place that was seen once: each counts as if it had four more attempts like the mean. */
const priorAttempts = 4;

/** With fewer attempts whose work was kept, a place is not preferred: one lucky attempt is no proof. */
const enoughKept = 5;

/**
 * What slots were worth to a run; empty while one of its jobs has begun and not ended: attempts that end soon, at the
 * places that take slots back, would stand for all.
 */
export const placesOf = (jobs: readonly Pick<JobState, 'attempts' | 'status'>[]): Place[] =>
  jobs.some(({ attempts, status }) => attempts.length > 0 && status !== 'ended')
    ? []
    : scorePlaces(jobs.flatMap(({ attempts }) => attempts));

/** What slots were worth, by site and GPU and by GPU alone, the best first. Jobs that differ in work blur it. */
export function scorePlaces(attempts: readonly AttemptHistory[]): Place[] {
  const tries = attempts.filter(({ ending }) => !saysNothing.has(ending)).map(tryOf);
  const epochSeconds = quantile(ascending(tries.flatMap((one) => one.epochSeconds ?? [])), 0.5) ?? 1;
  const worked = tries.map(({ keptSeconds, epochSeconds: own = epochSeconds, ...one }) => ({
    ...one,
    epochs: keptSeconds / own,
  }));
  const all = sumOf(worked);
  if (all.epochs === 0) return [];
  const prior = {
    epochs: (priorAttempts * all.epochs) / tries.length,
    seconds: (priorAttempts * all.seconds) / tries.length,
  };
  const scored = (site: string, gpu: string, its: typeof worked): Place => {
    const { epochs, seconds } = sumOf([...its, prior]);
    const found = epochs / seconds / (all.epochs / all.seconds);
    const isProven = its.filter((one) => one.epochs > 0).length >= enoughKept;
    const worth = isProven ? found : Math.min(1, found);
    return { site, gpu, attempts: its.length, worth };
  };
  const named = worked.filter(({ site, gpu }) => site !== '' || gpu !== '');
  const places = [...Map.groupBy(named, ({ site, gpu }) => JSON.stringify([site, gpu])).values()];
  const models = [
    ...Map.groupBy(
      named.filter(({ gpu }) => gpu !== ''),
      ({ gpu }) => gpu,
    ),
  ];
  return [
    ...places.map((its) => scored(its[0]?.site ?? '', its[0]?.gpu ?? '', its)),
    ...models.map(([gpu, its]) => scored('', gpu, its)),
  ].sort((a, b) => b.worth - a.worth || (`${a.site} ${a.gpu}` < `${b.site} ${b.gpu}` ? -1 : 1));
}

function tryOf(attempt: AttemptHistory) {
  const { site, machine, gpu, ending, checkpointed, agent } = attempt;
  return {
    site: site || hostOf(machine),
    gpu,
    seconds: secondsOf(attempt),
    keptSeconds: ending === 'success' || checkpointed ? secondsOf(attempt, 'training') : 0,
    epochSeconds: agent?.training?.pace?.epochSeconds,
  };
}

function sumOf(tries: readonly { epochs: number; seconds: number }[]): { epochs: number; seconds: number } {
  return {
    epochs: tries.reduce((sum, { epochs }) => sum + epochs, 0),
    seconds: tries.reduce((sum, { seconds }) => sum + seconds, 0),
  };
}
