import type { AgentEntry, Entry, RunEntry } from './entry.ts';

/**
 * The run's journal and the journals of its attempts as one list in the order in which things must have happened:
 * the access point's entries in their own order, an attempt's entries in theirs, and each attempt's between the
 * access point's entries that start and end it. Clocks are not looked at: those of two machines may be hours apart.
 */
export function merge(run: readonly RunEntry[], agents: readonly (readonly AgentEntry[])[]): Entry[] {
  const waiting = byAttempt(agents.flat());
  const merged: Entry[] = [];
  /** The attempt under way, per job. */
  const open = new Map<string, string>();
  const emit = (attempt: string | undefined) => {
    if (attempt === undefined) return;
    for (const entry of waiting.get(attempt) ?? []) merged.push(entry);
    waiting.delete(attempt);
  };
  for (const entry of run) {
    // A job has one attempt at a time: the next start, too, is proof that the one before is over.
    if ('job' in entry) emit(open.get(entry.job));
    if (entry.kind === 'attempt-ended') emit(attemptKey(entry));
    if (entry.kind === 'attempt-started') open.set(entry.job, attemptKey(entry));
    if (entry.kind === 'run-ended') for (const attempt of open.values()) emit(attempt);
    merged.push(entry);
  }
  for (const attempt of [...waiting.keys()].sort(numerically)) emit(attempt);
  return merged;
}

/** Names an attempt among those of a run. */
export const attemptKey = ({ job, attempt }: { job: string; attempt: number }): string => `${job}/${attempt}`;

const numerically = new Intl.Collator('en', { numeric: true }).compare;

function byAttempt(entries: readonly AgentEntry[]): Map<string, AgentEntry[]> {
  const attempts = new Map<string, AgentEntry[]>();
  for (const entry of entries) {
    const same = attempts.get(attemptKey(entry));
    if (same === undefined) attempts.set(attemptKey(entry), [entry]);
    else same.push(entry);
  }
  for (const same of attempts.values()) same.sort((a, b) => a.seq - b.seq);
  return attempts;
}
