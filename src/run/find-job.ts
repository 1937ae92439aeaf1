import { printable } from '../base/printable.ts';
import { Fault } from '../fault/fault.ts';
import { jobId } from '../job/layout.ts';
import type { JobState, RunState } from '../journal/state.ts';

/** The job of a run that a user names, as `0003` or `3`. */
export function findJob({ run, jobs }: RunState, word: string): JobState {
  const id = /^\d+$/.test(word) ? jobId(Number(word)) : word;
  const found = jobs.find((job) => job.id === word || job.id === id);
  if (found !== undefined) return found;
  throw new Fault('usage', `${printable(run)} has no job "${printable(word)}"`, {
    about: word,
    fix:
      jobs.length === 1
        ? `its only job is ${jobs[0]?.id ?? ''}`
        : `its jobs are ${jobs[0]?.id ?? ''} to ${jobs.at(-1)?.id ?? ''}`,
  });
}
