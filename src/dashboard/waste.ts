import { causeTitle, sentence, type Cause } from '../codes/causes.ts';
import type { RunState } from '../journal/state.ts';
import { noFacts } from '../history/log-facts.ts';
import { ledgerOf, type AttemptRow } from '../report/ledger.ts';
import { lossColumns, slotColumns, sumOver, usefulColumns } from '../report/columns.ts';
import { runJobs } from '../history/run-jobs.ts';
import type { Waste } from './page-data.ts';

export const sentenceOf = (cause: Cause): string => sentence(causeTitle(cause));

/** Where the time on slots went, by the report's ledger. Pure. */
export function wasteOf(state: RunState): Waste {
  const { rows, sum, slotMillis } = ledgerOf(runJobs(state), noFacts);
  const lost = new Map<string, Waste['lost'][number]>();
  const spent = { moving: 0, waiting: 0, overhead: 0, unknown: 0, open: 0 };
  for (const row of rows.flatMap((job) => job.attempts)) {
    for (const [part, millis] of Object.entries(partsOf(row))) spent[part as keyof typeof spent] += millis;
    const lostMillis = sumOver(row.millis, lossColumns);
    if (lostMillis === 0) continue;
    const cause = row.cause ?? stalled;
    const entry = lost.get(cause) ?? { cause, what: sentenceOf(cause), millis: 0, attempts: 0 };
    lost.set(cause, { ...entry, millis: entry.millis + lostMillis, attempts: entry.attempts + 1 });
  }
  const worst = [...lost.values()].sort((a, b) => b.millis - a.millis);
  return {
    slot: slotMillis,
    useful: sum.usefulCompute,
    ...spent,
    lost: worst,
    queued: sum.queued + sum.idle,
  };
}

/** The only loss of an attempt that succeeded or is running. */
const stalled: Cause = 'transfer-stalled';

/** An attempt's slot time other than useful compute and loss. */
function partsOf({
  ending,
  millis,
}: AttemptRow): Pick<Waste, 'moving' | 'waiting' | 'overhead' | 'unknown' | 'open'> {
  if (ending === 'running') {
    const open = sumOver(millis, slotColumns) - millis.usefulCompute - sumOver(millis, lossColumns);
    return { moving: 0, waiting: 0, overhead: 0, unknown: 0, open };
  }
  const { usefulCompute, waitingForData: waiting } = millis;
  const moving = sumOver(millis, usefulColumns) - usefulCompute - waiting;
  return { moving, waiting, overhead: millis.overhead, unknown: millis.unknown, open: millis.underWay };
}
