/**
 * Asynchronous successive halving without a server. A trial that reaches a rung reports its metric there, reads what
 * the others have reported, and decides for itself. The agent, `plan` and the simulation judge by this file alone.
 */

/** Where a trial is judged, and by what. */
export interface Rungs {
  metric: string;
  isLowerBetter: boolean;
  unit: 'epochs' | 'steps';
  /** Rising. The last one is the whole training: nobody is stopped there. */
  budgets: number[];
  /** One in this many goes on. 1: each of them, which is how a trial goes on that its user has chosen. */
  eta: number;
  /** Where no notes travel, rungs are rounds: it ends at the rung of this number, and the next round decides. */
  until?: number;
}

/** What a trial reported at a rung. */
export interface RungResult {
  trial: string;
  attempt: number;
  value: number;
}

export interface RungVerdict {
  goesOn: boolean;
  /** Results seen at the rung, its own among them. */
  seen: number;
  /** How many of them are better. */
  better: number;
}

/**
 * Whether a trial goes on from a rung: if it is among the best `seen / eta` there, or equal to one of them. The best
 * always does: no trial stops for want of news.
 */
export function judge(value: number, others: readonly number[], { eta, isLowerBetter }: Rungs): RungVerdict {
  const rank = (one: number): number => (Number.isNaN(one) ? -Infinity : isLowerBetter ? -one : one);
  const seen = others.length + 1;
  const better = others.filter((one) => rank(one) > rank(value)).length;
  return { goesOn: better < kept(seen, eta), seen, better };
}

const kept = (seen: number, eta: number): number => Math.max(1, Math.floor(seen / eta));

/** One result for each trial: that of its first attempt that reported, whatever the order of the notes. */
export function mergeResults(results: readonly RungResult[]): Map<string, number> {
  const latestFirst = results.toSorted((a, b) => b.attempt - a.attempt);
  return new Map(latestFirst.map(({ trial, value }) => [trial, value]));
}

/** A result is the name of an empty-handed note: one listing of a rung's folder is its whole table. */
export const noteName = ({ trial, attempt, value }: RungResult): string =>
  `${trial}_${attempt}_${String(value).replace('+', '')}`;

/** Any job of the user may have written a note: other names are no results. */
export function parseNoteName(name: string): RungResult[] {
  const [, trial, attempt, text] = /^(\d+)_(\d+)_(.+)$/.exec(name) ?? [];
  const value = Number(text);
  if (trial === undefined || (Number.isNaN(value) && text !== 'NaN')) return [];
  return [{ trial, attempt: Number(attempt), value }];
}

/**
 * How many trials go beyond each rung, if they come one after the other and in no order: the n-th is among
 * the best `n / eta` of n with that chance. In rounds all are known, and those are the best.
 */
export function expectedTrials(trials: number, { budgets, eta, until }: Rungs): number[] {
  const reached = [trials];
  for (let rung = 1; rung < budgets.length; rung++) {
    const before = Math.round(reached.at(-1) ?? 0);
    let on = 0;
    for (let n = 1; n <= before; n++) on += kept(n, eta) / n;
    reached.push(until === undefined ? on : kept(before, eta));
  }
  return reached;
}

/** Epochs or steps of all trials: if none is stopped, and as expected. */
export function budgetOf(trials: number, rungs: Rungs): { most: number; expected: number } {
  const reached = expectedTrials(trials, rungs);
  const parts = rungs.budgets.map(
    (budget, at) => (budget - (rungs.budgets[at - 1] ?? 0)) * (reached[at] ?? 0),
  );
  return { most: trials * (rungs.budgets.at(-1) ?? 0), expected: parts.reduce((sum, one) => sum + one, 0) };
}
