import type { Cause } from '../codes/causes.ts';
import type { Account, Evidence } from '../diagnosis/explanation.ts';
import type { Resource, Termination } from '../eventlog/details.ts';

/** What happens on a slot, as far as a log says. `cut-off` is between a lost connection and a failed try to restore it;
 * `stalled` is input that stood still until a server was given up, and `starved` training that waited for data which
 * still arrived, where a run's own journal says so. */
export type Activity =
  | 'queue'
  | 'input'
  | 'stalled'
  | 'unpacking'
  | 'starting'
  | 'starved'
  | 'executing'
  | 'output'
  | 'suspended'
  | 'cut-off'
  | 'silent';

/** What a job does while it has no slot. */
export type Wait = 'idle' | 'held';

/** A stretch of time, in milliseconds since its job's first event: small numbers take half the memory of dates. */
export interface Span<T> {
  doing: T;
  from: number;
  to: number;
  /** Output that did not arrive whole: nothing of it can be used again. */
  failed?: true;
}

/**
 * How an attempt ended. `requeued`: by itself, and its own policy wants it again. `lost`: another began and no event
 * says what became of this one. `running`: the log ends first.
 */
export type Ending =
  | 'success'
  | 'wrong-output'
  | 'failed'
  | 'requeued'
  | 'evicted'
  | 'held'
  | 'removed'
  | 'transfer-failed'
  | 'lost'
  | 'running';

/** One try at a job on one slot. Its waits and spans follow each other without a gap or an overlap. */
export interface AttemptHistory {
  /** Its own `cluster.proc`, where its job is a node of a DAG that may have had several. */
  id?: string;
  /** From 1. */
  number: number;
  /** What the job waited for before this attempt. */
  waits: Span<Wait>[];
  spans: Span<Activity>[];
  ending: Ending;
  /** Why, unless it went well. */
  cause?: Cause;
  /** Whether the work was saved when the slot was left. */
  checkpointed: boolean;
  site: string;
  machine: string;
  /** Models of its GPUs; empty where no event names them. */
  gpu: string;
  /** Bytes HTCondor itself brought to the job; what plugins fetched is not in it. */
  receivedBytes?: number;
  /** Bytes HTCondor itself brought back from the job. */
  sentBytes?: number;
  /** Which cache gave how much, in fetches of how long; only a run's own journal says it. */
  caches?: CacheShare[];
  /** How often its input stalled. */
  stalls?: number;
  resources: readonly UsedResource[];
  /** What only an explanation needs, where it was asked for. */
  details?: AttemptDetails;
}

/** How an attempt ended, in the words of the event. `silent`: another began and no event says what became of it. */
export interface AttemptEnd {
  how: 'exited' | 'vacated' | 'exception' | 'removed' | 'silent';
  code: number | undefined;
  subcode: number | undefined;
  reason: string;
  termination: Termination | undefined;
  /** What was used and asked for, where the log has the table. */
  resources: readonly Resource[];
}

/** What an explanation needs of an attempt beyond its account: kept only where evidence was asked for. */
export interface AttemptDetails {
  /** In milliseconds since the epoch; undefined where the log has lost its beginning. */
  from: number | undefined;
  to: number;
  began: Evidence;
  /** What it was last seen doing. */
  doing: Activity;
  /** The most memory it was seen to use, in MB. */
  memoryMb: number;
  /** What the execution point complained of last. */
  complaint?: { text: string; evidence: Evidence };
  /** How often its output, or its state, was brought back while it ran. */
  saves: number;
  /** How often the connection was lost and found again. */
  reconnects: number;
  end?: AttemptEnd & { evidence: Evidence };
}

/** What a cache gave of an object. */
export interface CacheShare {
  name: string;
  bytes: number;
  /** How long the whole fetch took; 0 where it did not end. */
  seconds: number;
  /** How often it was given up. */
  setbacks: number;
  /** Who preferred or avoided it. */
  wanted?: string;
}

/** A resource that was asked for and measured. */
export interface UsedResource {
  name: string;
  /** Empty where the log gives none. */
  unit: string;
  usage: number;
  request: number;
}

export type JobOutcome = 'success' | 'wrongOutput' | 'failed' | 'held' | 'removed' | 'running' | 'waiting';

/** What only a run of ours knows of a job: its values of the matrix, and what its training said last. */
export interface Trained {
  parameters?: Readonly<Record<string, string | number | boolean>>;
  loss?: number;
  accuracy?: number;
}

/** A job by its events. */
export interface JobHistory {
  /** `cluster.proc`; a second job of the same number ends in `#2`. */
  id: string;
  /** Its first and its last event, in milliseconds since the epoch. */
  from: number;
  to: number;
  attempts: AttemptHistory[];
  /** What it waited for after its last attempt. */
  after: Span<Wait>[];
  outcome: JobOutcome;
  /** The name of its node, where a DAG submitted it; clusters of one node are its attempts, and `id` is the latest. */
  node?: string;
  /** The ids of its earlier clusters. */
  earlierIds?: string[];
  /** Who submitted it, where the log says. */
  owner?: string;
  cause?: Cause;
  trained?: Trained;
  /** How often it was put on hold. */
  holds?: number;
  /** The pool's own words for it, cut to a few lines. */
  reason?: string;
  /** What only an explanation needs, where it was asked for. */
  details?: JobDetails;
}

/** A hold, and the number of the attempt that it ended, if it ended one. */
export interface Hold extends Account {
  attempt?: number;
}

/** What an explanation needs of a job beyond its account: kept only where evidence was asked for. */
export interface JobDetails {
  /** Its first event, and its last. */
  first: Evidence;
  last: Evidence;
  holds: Hold[];
  releases: { reason: string; evidence: Evidence }[];
  removal?: { reason: string; evidence: Evidence; wasHeld: boolean };
}
