import { noFacts } from '../history/log-facts.ts';
import { addAmounts, columns, noAmounts, slotColumns, sumOver } from './columns.ts';
import type { Ledger } from './ledger.ts';
import { logReport } from './log-report.ts';
import type { ReadLogs } from './read-logs.ts';

/** Runs and logs that were read one by one, as one; each job has the name of its own as `log`. */
export function mergeReads(parts: readonly { name: string; read: ReadLogs | undefined }[]): ReadLogs {
  const known = parts.flatMap(({ name, read }) => (read === undefined ? [] : [{ name, read }]));
  const jobs = known.flatMap(({ name, read }) => read.jobs.map((job) => ({ ...job, log: name })));
  const ledger = mergeLedgers(known);
  const reports = known.map(({ read }) => read.report);
  return {
    jobs,
    ledger,
    report: logReport(jobs, ledger, {
      logs: known.map(({ name }) => name),
      source: reports.every(({ source }) => source === 'run') ? 'run' : 'log',
      notes: [...new Set(reports.flatMap(({ notes }) => notes))],
      suspects: known.flatMap(({ name, read }) =>
        read.report.suspicious.map((suspect) => ({ ...suspect, log: name })),
      ),
    }),
  };
}

function mergeLedgers(parts: readonly { name: string; read: ReadLogs }[]): Ledger {
  const ledgers = parts.map(({ read }) => read.ledger);
  const facts = ledgers.map((ledger) => ledger.facts);
  const sum = noAmounts();
  for (const ledger of ledgers) addAmounts(sum, ledger.sum);
  const [first] = facts;
  const isOneZone = facts.every(({ zone }) => zone === first?.zone);
  const times = (values: readonly (number | undefined)[]) => values.filter((value) => value !== undefined);
  const [starts, ends] = [
    times(facts.map(({ firstTime }) => firstTime)),
    times(facts.map(({ lastTime }) => lastTime)),
  ];
  return {
    rows: parts.flatMap(({ name, read }) => read.ledger.rows.map((row) => ({ ...row, log: name }))),
    sum,
    totalMillis: sumOver(sum, columns),
    slotMillis: sumOver(sum, slotColumns),
    facts: {
      ...noFacts,
      events: facts.reduce((count, { events }) => count + events, 0),
      hasTransfers: facts.some(({ hasTransfers }) => hasTransfers),
      guessedYear: facts.some(({ guessedYear }) => guessedYear),
      firstTime: starts.length === 0 ? undefined : Math.min(...starts),
      lastTime: ends.length === 0 ? undefined : Math.max(...ends),
      zone: isOneZone ? first?.zone : undefined,
      offsetMinutes: isOneZone ? first?.offsetMinutes : undefined,
    },
  };
}
