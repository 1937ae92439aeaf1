import type { SourceLine } from '../base/finding.ts';

/** One `name = value` that HTCondor would read: not in a branch that is skipped. */
export interface Assignment {
  /** As written. */
  name: string;
  /** The usual name of the command; undefined for a macro of the user's own and for attributes. */
  command: string | undefined;
  /** Set by `+Name` or `MY.Name`: goes into the job as it is. */
  attribute: string | undefined;
  value: string;
  place: SourceLine;
}

/** One job as it would be queued: every command and attribute with its macros expanded. */
export interface SubmittedJob {
  process: number;
  item: Record<string, string>;
  /** By the usual name of the command. */
  commands: Record<string, string>;
  /** By the attribute's name as written first; the values are ClassAd expressions. */
  attributes: Record<string, string>;
}

/** One queue statement and the jobs it makes. */
export interface SubmittedQueue {
  place: SourceLine;
  text: string;
  variables: string[];
  /** All jobs of the statement; only the first ones are in `jobs`. Undefined when the items cannot be known here. */
  total: number | undefined;
  jobs: SubmittedJob[];
  /** Macros and commands in force at the statement, by their lower-case names. */
  inForce: Map<string, Assignment>;
}

/** Something the reader met that HTCondor refuses, or that cannot be known without running it. */
export interface ReadingProblem {
  kind: 'syntax' | 'not-run' | 'missing' | 'odd-comment' | 'chance';
  message: string;
  place: SourceLine;
}

/** A submit description as it was read: what stands where, and which jobs it makes. */
export interface Submission {
  file: string;
  assignments: Assignment[];
  queues: SubmittedQueue[];
  problems: ReadingProblem[];
  /** Names that some value, condition or queue statement refers to; lower case. */
  referenced: Set<string>;
}
