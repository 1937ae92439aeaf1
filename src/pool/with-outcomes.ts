import type { Entry, FaultRecord, Outcome } from '../journal/entry.ts';

/** A job ends as its last attempt did, as far as the agent could tell; `outcomes` remembers those of earlier entries. */
export function withOutcomes(entries: Entry[], outcomes = new Map<string, Outcome>()): Entry[] {
  const faults = new Map<string, FaultRecord | undefined>();
  return entries.map((entry) => {
    if (entry.kind === 'attempt-ended') {
      outcomes.set(entry.job, entry.outcome);
      faults.set(entry.job, entry.exit === null ? undefined : entry.fault);
    }
    // A job that a rule of ours keeps back after its attempt has ended is kept back for what the agent found.
    if (entry.kind === 'job-held') return { ...entry, fault: faults.get(entry.job) ?? entry.fault };
    if (entry.kind !== 'job-ended' || entry.outcome !== 'failed') return entry;
    return { ...entry, outcome: outcomes.get(entry.job) ?? entry.outcome };
  });
}
