import type { Cause } from '../codes/causes.ts';
import type { Resource } from '../eventlog/details.ts';

/** How a job stands. `looping`: it starts over and over and ends the same way each time, and nobody holds it. */
export type JobStatus = 'succeeded' | 'failed' | 'held' | 'looping' | 'running' | 'waiting' | 'removed';

/** Where it is written: a place in an event log or an entry of a journal, with its words. */
export interface Evidence {
  file: string;
  /** Where an event begins in its log, in bytes. */
  offset?: number;
  /** The number (`seq`) of a journal's entry. */
  entry?: number;
  /** The time as written. */
  at: string;
  /** The lines it rests on, safe on a terminal and cut where they are endless. */
  lines: string[];
}

/** HTCondor's account of a hold or of an eviction. */
export interface Account {
  code: number | undefined;
  subcode: number | undefined;
  reason: string;
  evidence: Evidence;
  /** What was used and asked for, where the log has the table. */
  resources: readonly Resource[];
  /** The event that has the table, where it is another one. */
  table?: Evidence;
}

/** Why a job stands as it does. Plain data: it goes into `--json` as it is. */
export interface Explanation {
  job: string;
  /** Its node, where a DAG submitted it. */
  node?: string;
  standing: JobStatus;
  /** A kind of fault where Updraft itself found it, otherwise by HTCondor's account. */
  cause: Cause;
  /** The cause in a few words, the same for all jobs it befell. */
  title: string;
  /** What happened, in sentences; the first says why. */
  because: string[];
  /** The end of the traceback that the training printed, with its file. */
  traceback?: { file: string; lines: string[] };
  evidence: Evidence[];
  /** What is being done about it, by whom. */
  doing: string[];
  /** What the user could do. */
  advice: string[];
}
