import { causeInfo, type Cause } from '../codes/causes.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import type { AttemptRow } from './ledger.ts';
import { type CountedJobs, forEachAttempt, lostMillis, LossTally } from './losses.ts';
import { hostOf } from './sites.ts';

interface AttemptAt {
  job: JobHistory;
  attempt: AttemptHistory;
  row: AttemptRow;
}

/** A machine on which attempts failed in a row. */
export interface BrokenMachine {
  name: string;
  attempts: number;
  inARow: number;
  cause: Cause;
  lostSeconds: number;
}

const minStreak = 5;
/** A single job may fail anywhere. */
const minJobs = 2;
/**
 * Measured use: such a job may succeed elsewhere only because of a larger request, or because nobody measures
 * there.
 */
export const measured: ReadonlySet<Cause> = new Set(['memory-exceeded', 'disk-exceeded', 'cpu-exceeded']);
/** Never a machine's fault. */
const blameless: ReadonlySet<Cause> = new Set([
  ...(['user', 'evicted', 'disconnected', 'silent-end', 'script-failed', 'node-retried'] as const),
  ...measured,
]);
/** Faults of servers or the access point, the same for all machines. */
const fromElsewhere: ReadonlySet<Cause> = new Set([
  'object-missing',
  'access-refused',
  'server-failed',
  'transfer-stalled',
  'pool-policy',
]);

/** Whether it happens on every machine: then one is to blame only if the same job succeeded on another. */
export function isEverywhere(cause: Cause): boolean {
  const { change } = causeInfo(cause);
  return fromElsewhere.has(cause) || (change !== 'retry' && change !== 'staff');
}

export function brokenMachines(counted: CountedJobs): BrokenMachine[] {
  return [...attemptsOfFailing(counted)]
    .flatMap(([name, here]) => {
      const failed = longestFailure(here);
      const cause = mainCauseOf(failed);
      const { size } = new Set(failed.map(({ job }) => job));
      if (name === '' || cause === null || failed.length < minStreak || size < minJobs) return [];
      const lost = here.reduce((sum, { row }) => sum + lostMillis(row), 0);
      return [{ name, attempts: here.length, inARow: failed.length, cause, lostSeconds: lost / 1000 }];
    })
    .sort((a, b) => b.inARow - a.inARow || a.name.localeCompare(b.name));
}

/** The attempts on each machine with enough failures to be broken: few of a pool's. */
function attemptsOfFailing(counted: CountedJobs): Map<string, AttemptAt[]> {
  const failures = new Map<string, number>();
  forEachAttempt(counted, (_, { machine }, { cause }) => {
    if (cause === undefined || blameless.has(cause)) return;
    const name = hostOf(machine);
    failures.set(name, (failures.get(name) ?? 0) + 1);
  });
  const failing = new Map<string, AttemptAt[]>();
  for (const [name, count] of failures) if (count >= minStreak) failing.set(name, []);
  if (failing.size > 0)
    forEachAttempt(counted, (job, attempt, row) => {
      failing.get(hostOf(attempt.machine))?.push({ job, attempt, row });
    });
  return failing;
}

function mainCauseOf(failed: readonly AttemptAt[]): Cause | null {
  const causes = new LossTally<Cause>();
  for (const { row } of failed) causes.add(row.cause, row);
  return causes.worst()?.name ?? null;
}

/** The longest series of failed attempts without a success between them. */
function longestFailure(here: readonly AttemptAt[]): AttemptAt[] {
  const startOf = ({ job, attempt }: AttemptAt) => job.from + (attempt.spans[0]?.from ?? 0);
  let longest: AttemptAt[] = [];
  let current: AttemptAt[] = [];
  for (const placed of here.toSorted((a, b) => startOf(a) - startOf(b))) {
    const { good, cause } = placed.row;
    if (good) current = [];
    if (cause === undefined || blameless.has(cause) || (isEverywhere(cause) && !isHealed(placed))) continue;
    current.push(placed);
    if (current.length > longest.length) longest = current;
  }
  return longest;
}

const isHealed = ({ job, attempt }: AttemptAt): boolean =>
  job.attempts.some(
    ({ ending, machine }) => ending === 'success' && hostOf(machine) !== hostOf(attempt.machine),
  );
