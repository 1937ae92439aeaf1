import type { SourceLine } from '@updraft/base';

/** One `name = value` that HTCondor would read: not in a branch that is skipped. */
export interface Assignment {
  /** As written. */
  name: string;
  /** The usual name of the command; undefined for user-defined macros and attributes. */
  command: string | undefined;
  /** Set by `+Name` or `MY.Name`: goes into the job unchanged. */
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
  /** By the attribute's name as first written; the values are ClassAd expressions. */
  attributes: Record<string, string>;
}

/** One queue statement and the jobs it makes. */
export interface SubmittedQueue {
  place: SourceLine;
  text: string;
  variables: string[];
  /**
   * The number of jobs of the statement; `jobs` has only the first ones. Undefined when the items are unknown here:
   * `jobs` then has one job, whose variables are `$$(NAME)`.
   */
  total: number | undefined;
  jobs: SubmittedJob[];
  /** What the jobs have in common: a job with `markedName`s for what differs. */
  template?: SubmittedJob;
  /** Macros and commands in force at the statement, by their lower-case names. */
  inForce: Map<string, Assignment>;
}

/** Something that HTCondor refuses, or that cannot be known without running it. */
export interface ReadingProblem {
  kind:
    | 'syntax'
    | 'byte-order-mark'
    | 'utf-16'
    | 'no-list'
    | 'list-unread'
    | 'blank-item'
    | 'not-run'
    | 'missing'
    | 'odd-comment'
    | 'chance';
  message: string;
  place: SourceLine;
}

/** A submit file as it was read: its assignments with their places, and the jobs it makes. */
export interface Submission {
  file: string;
  assignments: Assignment[];
  queues: SubmittedQueue[];
  /** There is no queue statement; `queues` has the one that HTCondor 25 adds. */
  hasNoQueue: boolean;
  problems: ReadingProblem[];
  /** Names that some value, condition or queue statement refers to; lower case. */
  referenced: Set<string>;
  /** Environment variables that some value asks for and that are not set here. */
  unset: Set<string>;
}
