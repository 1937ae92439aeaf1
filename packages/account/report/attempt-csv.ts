import { csvLine } from '@updraft/view/document';
import { speedNames } from '../history/speeds.ts';
import { columns, type Amounts } from './columns.ts';
import type { Ledger } from './ledger.ts';

/** A row per attempt, including the wait before it, and one per job for the time after: every second exactly once. */
export function* attemptCsv({ rows }: Ledger): Generator<string> {
  const names = [...new Set(rows.flatMap(({ parameters = {} }) => Object.keys(parameters)))];
  yield csvLine([...facts, ...columns, ...names.map((name) => `parameters.${name}`)]);
  for (const { job, node = '', owner = '', log = '', outcome, attempts, millis, parameters } of rows) {
    const values = names.map((name) => String(parameters?.[name] ?? ''));
    const rest = { ...millis };
    const seconds = (amounts: Amounts) => columns.map((column) => String(amounts[column] / 1000));
    for (const row of attempts) {
      for (const column of columns) rest[column] -= row.millis[column];
      const { attempt, id, ending, cause = '', site, machine, gpu, speed } = row;
      const known = [job, node, owner, outcome, String(attempt), id, ending, cause, site, machine, gpu];
      const speeds = speedFacts.map((name) => String(speed?.[name] ?? ''));
      yield csvLine([...known, ...speeds, log, ...seconds(row.millis), ...values]);
    }
    if (attempts.length === 0 || columns.some((column) => rest[column] !== 0))
      yield csvLine([
        ...[job, node, owner, outcome, ...facts.slice(4, -1).map(() => ''), log],
        ...[...seconds(rest), ...values],
      ]);
  }
}

const speedFacts = ['driver', ...speedNames] as const;

const facts = [
  'job',
  'node',
  'owner',
  'outcome',
  'attempt',
  'id',
  'ending',
  'cause',
  'site',
  'machine',
  'gpu',
  ...speedFacts,
  'log',
];
