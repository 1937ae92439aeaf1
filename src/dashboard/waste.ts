import { kinds, type FaultKind } from '../fault/kinds.ts';
import type { AttemptState, RunState } from '../journal/state.ts';
import type { Ledger } from '../report/ledger.ts';
import type { Waste } from './page-data.ts';

const outcomeWords: Record<string, string> = {
  lost: 'The agent went away without a word.',
  stopped: 'The user stopped it.',
  evicted: kinds.evicted.what,
  failed: 'The attempt failed and nobody said why.',
};

/** Why an attempt did not lead to a result: the kind of its fault, or its outcome. */
export function causeOf({ fault, agent, outcome }: AttemptState): string {
  if (outcome === 'stopped') return 'stopped';
  return fault?.kind ?? agent?.faults.at(-1)?.kind ?? outcome ?? 'lost';
}

export const whatIs = (cause: string): string =>
  cause in kinds ? kinds[cause as FaultKind].what : (outcomeWords[cause] ?? '');

/** Where the time on slots went, as far as it can be called useful or lost. Pure. */
export function wasteOf(state: RunState, { rows, slot, useful, sum }: Ledger): Waste {
  const attempts = state.jobs.flatMap((job) => job.attempts);
  const lost = new Map<string, Waste['lost'][number]>();
  let [moving, open] = [0, 0];
  for (const [index, row] of rows.entries()) {
    const onSlot = row.total - row.millis.queued;
    const attempt = attempts[index];
    if (row.outcome === 'success') moving += onSlot - row.millis.training;
    else if (row.outcome === 'running' || attempt === undefined) open += onSlot;
    else {
      const cause = causeOf(attempt);
      const entry = lost.get(cause) ?? { cause, what: whatIs(cause), millis: 0, attempts: 0 };
      lost.set(cause, { ...entry, millis: entry.millis + onSlot, attempts: entry.attempts + 1 });
    }
  }
  const worst = [...lost.values()].sort((a, b) => b.millis - a.millis);
  return { slot, useful, moving, open, lost: worst, queued: sum.queued };
}
