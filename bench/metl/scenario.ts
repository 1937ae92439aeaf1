import { type MetlAttempt, metlAttempts } from './attempts.ts';

/** How an epoch goes at a site: as one of METL's attempts there. Seconds are those of METL. */
interface Site {
  /** Whole epochs. */
  done: readonly number[];
  /** What may become of the first epoch on a slot, and of a later one: those that failed at once did so at the start. */
  first: readonly Fate[];
  later: readonly Fate[];
}

type Fate = readonly [status: string, seconds: number];

/** What both ways meet. */
export interface Scenario {
  sites: Record<string, Site>;
  /** From the end of an attempt that was not evicted to the submission of the next one, by a person or by DAGMan. */
  pauses: number[];
  /** How long an attempt lasted until the slot was lost, on average. */
  meanLifeSeconds: number;
}

/** An attempt that failed sooner had not begun to train. */
const startSeconds = 600;

export function metlScenario(): Scenario {
  const attempts = metlAttempts();
  const isDone = ({ status }: MetlAttempt): boolean => status === 'completed';
  const fatesOf = (some: MetlAttempt[]): Fate[] => some.map(({ status, seconds }) => [status, seconds]);
  const sites = Object.fromEntries(
    Map.groupBy(attempts, ({ site }) => site)
      .entries()
      .map(([site, own]) => [
        site,
        {
          done: own.filter(isDone).map(({ seconds }) => seconds),
          first: fatesOf(own),
          later: fatesOf(own.filter((one) => isDone(one) || one.seconds >= startSeconds)),
        },
      ]),
  );
  const lost = attempts.filter((one) => !isDone(one)).length;
  const all = attempts.reduce((sum, { seconds }) => sum + seconds, 0);
  return { sites, pauses: pausesOf(attempts), meanLifeSeconds: all / lost };
}

function pausesOf(attempts: MetlAttempt[]): number[] {
  const epochs = Map.groupBy(attempts, ({ run, epoch }) => `${run} ${epoch}`).values();
  return [...epochs].flatMap((of) => {
    const sorted = of.toSorted((a, b) => a.submitted - b.submitted);
    return sorted.slice(1).flatMap(({ submitted }, at) => {
      const before = sorted[at];
      if (before === undefined || before.status === 'evicted' || before.status === 'completed') return [];
      return [Math.max(0, submitted - before.ended)];
    });
  });
}
