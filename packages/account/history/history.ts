import type { Cause } from '../codes/causes.ts';
import type { ReportedReason } from '../codes/row.ts';
import type { Resource, Termination } from '@updraft/htcondor/eventlog';
import type { MetricDirections } from '@updraft/base/training';
import type { FaultRecord, Metrics, ServerShare } from '../journal/entry.ts';
import type { AgentState } from '../journal/agent-state.ts';
import type { Speeds } from './speeds.ts';

/** What people read of an activity, the column of its time while the attempt's work counts, and how a page draws it. */
const activity = <const Column, const Drawn>(said: string, column: Column, drawn: Drawn) => ({
  said,
  column,
  drawn,
});

/**
 * What an attempt does on a slot, in the order in which a run's attempts are drawn. A journal has those that are a
 * `Phase`; a log has `returning` for checkpoints too. `stalled`: input without progress until a server was given up.
 * `starved`: training that waited for data. `cut-off`: from a lost connection to the failed attempt to restore it.
 */
export const activities = {
  queued: activity('waiting to receive its input', 'overhead', 'preparing'),
  preparing: activity('starting its program', 'overhead', 'preparing'),
  stalled: activity('receiving its input, with no progress', 'retriedTransfer', 'stalled'),
  fetching: activity('receiving its input', 'usefulTransfer', 'fetching'),
  unpacking: activity('unpacking its input', 'unpacking', 'unpacking'),
  starved: activity('running its program, which waits for data', 'waitingForData', 'waiting for data'),
  training: activity('running its program', 'usefulCompute', 'training'),
  saving: activity('returning its output', 'saving', 'saving'),
  returning: activity('returning its output', 'returning', 'returning'),
  cleaning: activity('cleaning up', 'overhead', 'overhead'),
  suspended: activity('suspended', 'suspended', 'overhead'),
  'cut-off': activity('disconnected from its machine', 'unknown', 'unknown'),
  unknown: activity('running its program', 'unknown', 'unknown'),
};
export type Activity = keyof typeof activities;

/** Whether it returns files: results or a checkpoint. */
export const returnsFiles = (doing: Activity): boolean => doing === 'saving' || doing === 'returning';

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

/** What people read who know no more of an end, and where the attempt's compute counts unless its cause says more. */
const ending = <const Column>(said: string, column: Column) => ({ said, column });

/**
 * How an attempt ended. `requeued`: it exited, and the job's own policy put it back into the queue. `lost`: the next
 * attempt began, and no event shows the end of this one. `running`: the log ends first.
 */
export const endings = {
  success: ending('It produced a valid result.', 'usefulCompute'),
  'wrong-output': ending('It exited without a valid result.', 'lostToWrongOutput'),
  failed: ending('It failed.', 'lostToFailure'),
  requeued: ending('It exited, and was put back into the queue.', 'lostToFailure'),
  evicted: ending('The pool took the slot back.', 'lostToEviction'),
  held: ending('It was held.', 'lostToFailure'),
  removed: ending('It was removed.', 'lostToRemoval'),
  'transfer-failed': ending('A transfer failed.', 'lostToFailure'),
  lost: ending('It exited without reporting why.', 'lostToEviction'),
  running: ending('It is running.', 'underWay'),
};
export type Ending = keyof typeof endings;
/** How a job ended, or stands. */
export type JobOutcome = Exclude<Ending, 'requeued' | 'evicted' | 'transfer-failed' | 'lost'> | 'waiting';

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
  /** How many cores and GPUs its slot has, if known. */
  cpus?: number;
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
  /** What its agent reported; only a run's own journal has it. */
  agent?: AgentState;
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

/** A position in an event log or an entry of a journal, and its text. */
export interface Evidence {
  file: string;
  /** Where the event starts in its log, in bytes. */
  offset?: number;
  /** The number (`seq`) of the journal entry. */
  entry?: number;
  /** The time as written. */
  at: string;
  /** The lines that show it, safe on a terminal and clipped. */
  lines: string[];
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
export interface Speed extends Speeds {
  /** The version of the GPUs' driver. */
  driver?: string;
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

/** Known only of a run's own jobs: the values of the matrix, and what the training measured, last and at best. */
interface Trained {
  parameters?: Readonly<Record<string, string | number | boolean>>;
  /** The values in which the run's jobs differ: `lr=0.1 seed=2`. */
  name?: string;
  metrics?: Metrics;
  best?: Metrics;
  /** Which values of metrics are better, as far as the job file says. */
  directions?: MetricDirections;
}

/** A job, computed from its events. */
export interface JobHistory extends Trained {
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
  /** How often it was put on hold. */
  holds?: number;
  /** The pool's own message, cut to a few lines. */
  reason?: string;
  /** Only if evidence was requested. */
  details?: JobDetails;
}

/** HTCondor's account of a hold or an eviction. */
export interface Account extends ReportedReason {
  evidence: Evidence;
  /** What was used and requested, if the log has the table. */
  resources: readonly Resource[];
  /** The event with that table, if it is another one. */
  table?: Evidence;
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
 * The parts of a job's id or a cluster, as logs or reports write it. Several logs may have an id: `12.3` are all of
 * them, `12.3#2` is the second.
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
