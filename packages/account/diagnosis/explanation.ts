import type { Evidence, JobOutcome } from '../history/history.ts';
import type { Cause } from '../codes/causes.ts';

/** The state of a job. `looping`: it starts again and again, always ends the same way, and is not held. */
export type JobStatus = Exclude<JobOutcome, 'wrong-output'> | 'looping';

/** What people read of it, after the job. */
export const standingWords = (standing: JobStatus): string =>
  standing === 'success' ? 'succeeded' : standing;

/** A job's state and its cause in a few words. */
export interface Headline {
  job: string;
  /** Its name among the jobs of its run, if that has a matrix: the values in which they differ. */
  name?: string;
  /** Its node, if a DAG submitted it. */
  node?: string;
  /** Whether that node has other jobs. */
  siblings?: true;
  /** Its log, if several logs were read. */
  log?: string;
  standing: JobStatus;
  /** A kind of fault if Updraft itself found it, otherwise by HTCondor's account. */
  cause: Cause;
  /** The cause in a few words, the same for all jobs that have it. */
  title: string;
  /** The title of several such jobs, if it differs. */
  titles?: string;
}

/** Why a job is in its state. Plain data, printed unchanged with `--json`. */
export interface Explanation extends Headline {
  /** Its values of the matrix, if it is a job of a run that has one. */
  parameters?: Readonly<Record<string, string | number | boolean>>;
  /** What happened, in sentences; the first says why. */
  because: string[];
  /** The end of the training's traceback, and the file it is in. */
  traceback?: { file: string; lines: string[] };
  evidence: Evidence[];
  /** What is being done about it, and by whom. */
  doing: string[];
  /** What the user could do. */
  advice: string[];
}
