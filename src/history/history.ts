import type { Cause } from '../codes/causes.ts';
import type { ReportedReason } from '../codes/row.ts';
import type { Account, Evidence } from '../diagnosis/explanation.ts';
import type { Resource, Termination } from '@updraft/htcondor/eventlog';
import type { MetricDirections } from '@updraft/base/training';
import type { FaultRecord, ServerShare } from '../journal/entry.ts';
import type { Metrics } from '../journal/metrics.ts';

/**
 * What an attempt does on a slot. `cut-off`: from a lost connection to the failed attempt to restore it. Only a run's
 * own journal shows `stalled`, input without progress until a server was given up, and `starved`, training that waited
 * for data.
 */
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

/** A period, in milliseconds since the job's first event: small numbers take half the memory of dates. */
export interface Span<T> {
  doing: T;
  from: number;
  to: number;
  /** Output that did not arrive completely, or compute that was done again: neither is of use. */
  failed?: true;
  /** Output that a later attempt resumed from, and so no result. */
  isCheckpoint?: boolean;
}

/**
 * How an attempt ended. `requeued`: it exited, and the job's own policy put it back into the queue. `lost`: the next
 * attempt began, and no event shows the end of this one. `running`: the log ends first.
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

/** One try at a job on one slot. Its waits and spans have no gaps and do not overlap. */
export interface AttemptHistory {
  /** `cluster.proc` of this attempt, if the job is a node of a DAG: each try of a node has its own cluster. */
  id?: string;
  /** From 1. */
  number: number;
  /** Waits of the job before this attempt. */
  waits: readonly Span<Wait>[];
  spans: readonly Span<Activity>[];
  ending: Ending;
  /** Undefined after a success. */
  cause?: Cause;
  /** What went wrong, if an agent or the access point of a run recorded it. */
  fault?: FaultRecord;
  /** Whether the work was saved when the slot was left. */
  checkpointed: boolean;
  site: string;
  machine: string;
  /** Models of its GPUs; empty if unknown. */
  gpu: string;
  /** How many GPUs its slot has, if known. */
  gpus?: number;
  /** Only a run's own journal has it. */
  speed?: Speed;
  /** Bytes that HTCondor itself sent to the job, without those fetched by plugins. */
  receivedBytes?: number;
  /** Bytes that HTCondor itself returned from the job. */
  sentBytes?: number;
  /** Only a run's own journal has it. */
  caches?: CacheShare[];
  /** How often its input stalled. */
  stalls?: number;
  /** Checkpoints that its training reported, the seconds it waited for them, and between them as it chose them last. */
  saved?: { saves: number; seconds: number; every?: number };
  resources: readonly UsedResource[];
  /** Only if evidence was requested. */
  details?: AttemptDetails;
}

/** How an attempt ended, as its event has it. `silent`: the next attempt began, and no event shows the end. */
export interface AttemptEnd extends ReportedReason {
  how: 'exited' | 'vacated' | 'exception' | 'removed' | 'silent';
  termination: Termination | undefined;
  /** Used and requested, if the event has the table. */
  resources: readonly Resource[];
}

/** What only an explanation needs of an attempt. */
export interface AttemptDetails {
  /** In milliseconds since the epoch; undefined if the log does not have its start. */
  from: number | undefined;
  to: number;
  began: Evidence;
  /** The last known activity. */
  doing: Activity;
  /** Peak memory, in MB. */
  memoryMb: number;
  /** The last error of the execution point. */
  complaint?: { text: string; evidence: Evidence };
  /** How often output or a checkpoint was returned while it ran. */
  saves: number;
  /** How often the connection was lost and restored. */
  reconnects: number;
  end?: AttemptEnd & { evidence: Evidence };
}

/** What an attempt ran on, and how fast it trained, where that is known. */
export interface Speed {
  /** The version of the GPUs' driver. */
  driver?: string;
  /** How busy its GPUs were while it trained, from 0 to 1. */
  gpuUse?: number;
  /** Images, or whatever a sample is. */
  samplesPerSecond?: number;
  epochSeconds?: number;
}

/** What one cache sent to an attempt. */
export interface CacheShare extends Pick<ServerShare, 'warmBytes' | 'coldBytes'> {
  name: string;
  bytes: number;
  /** Duration of the whole fetch; 0 if it did not end. */
  seconds: number;
  /** How often it was given up, and why the last time. */
  setbacks: number;
  lastSetback?: Cause;
  /** Bytes per second now, while it is the only server of a fetch. */
  rate?: number;
  /** Which setting prefers or avoids it. */
  wanted?: string;
}

/** A resource that was requested and measured. */
export interface UsedResource {
  name: string;
  /** Empty if the log has none. */
  unit: string;
  usage: number;
  request: number;
}

export type JobOutcome = 'success' | 'wrongOutput' | 'failed' | 'held' | 'removed' | 'running' | 'waiting';

/** Known only of a run's own jobs: the values of the matrix, and what the training measured, last and at best. */
export interface Trained {
  parameters?: Readonly<Record<string, string | number | boolean>>;
  /** The values in which the run's jobs differ: `lr=0.1 seed=2`. */
  name?: string;
  metrics?: Metrics;
  best?: Metrics;
  /** Which values of metrics are better, as far as the job file says. */
  directions?: MetricDirections;
}

/** A job, computed from its events. */
export interface JobHistory {
  /** `cluster.proc`; a second job with the same number gets `#2`. */
  id: string;
  /** First and last event, in milliseconds since the epoch. */
  from: number;
  to: number;
  attempts: readonly AttemptHistory[];
  /** Waits after the last attempt. */
  after: readonly Span<Wait>[];
  outcome: JobOutcome;
  /** Its node, if a DAG submitted it: the node's clusters are its attempts, and `id` is the latest. */
  node?: string;
  /** Whether that node has other jobs: its submit file queues several, or it ran again after a success. */
  siblings?: true;
  /** The DAG of that node, if DAGMan's own log is among those that were read: its name without `.nodes.log`. */
  dag?: string;
  earlierIds?: string[];
  /** Who submitted it, if the log has that. */
  owner?: string;
  /** Whether the log does not say so: then it is who owns the log's file. */
  isFileOwner?: true;
  /** The log with its first event, if several logs were read. */
  log?: string;
  cause?: Cause;
  /** How its data reaches it, known only of a run's own jobs; empty without data. */
  method?: string;
  trained?: Trained;
  /** How often it was put on hold. */
  holds?: number;
  /** The pool's own message, cut to a few lines. */
  reason?: string;
  /** Only if evidence was requested. */
  details?: JobDetails;
}

/** A hold; `attempt` is the number of the attempt that it ended, if any. */
export interface Hold extends Account {
  attempt?: number;
}

/** What only an explanation needs of a job. */
export interface JobDetails {
  first: Evidence;
  last: Evidence;
  holds: readonly Hold[];
  releases: readonly { reason: string; evidence: Evidence }[];
  removal?: { reason: string; evidence: Evidence; wasHeld: boolean };
}

/** Makes a job that has left the queue a success, in place: DAGMan counts its node as done, whatever it did. */
export function endAsDone(job: JobHistory): JobHistory {
  if (job.outcome === 'running' || job.outcome === 'held') return job;
  const last = job.attempts.at(-1);
  if (last !== undefined) {
    last.ending = 'success';
    delete last.cause;
  }
  job.outcome = 'success';
  delete job.cause;
  delete job.reason;
  delete job.details?.removal;
  return job;
}

/**
 * The parts of a job's id or a cluster, as logs or reports write it. Several logs may have an id: `12.3` are all of them,
 * `12.3#2` is the second.
 */
export function idParts(word: string): { cluster: number; proc?: number; use: string } | undefined {
  const [, cluster, proc, use = ''] = /^(\d{1,15})(?:\.(\d{1,15})(?:\.\d+)?(#\d+)?)?$/.exec(word) ?? [];
  if (cluster === undefined) return undefined;
  return { cluster: Number(cluster), ...(proc === undefined ? {} : { proc: Number(proc) }), use };
}

/** Whether a word is the id or the cluster of a job, also of one before DAGMan tried its node again. */
export function hasNumber(
  { id, earlierIds = [] }: Pick<JobHistory, 'id' | 'earlierIds'>,
  word: string,
): boolean {
  const { cluster, proc, use } = idParts(word) ?? {};
  const number = proc === undefined ? `${cluster}` : `${cluster}.${proc}${use}`;
  return [id, ...earlierIds].some(
    (one) => one === number || one.startsWith(`${number}.`) || one.startsWith(`${number}#`),
  );
}

/** The id as HTCondor's commands take it. */
export const idInQueue = (id: string): string => id.replace(/#\d+$/, '');
