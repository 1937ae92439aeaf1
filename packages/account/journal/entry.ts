import { type Boot, defined } from '@updraft/base';
import type { ProcessIdentity } from '@updraft/base/processes';
import type { Cause } from '../codes/causes.ts';
import type { Fault } from '../fault/fault.ts';
import type { FaultKind } from '../fault/kinds.ts';

/** What an attempt is doing. `queued` is between attempts, before an agent reports. */
export const phases = [
  'queued',
  'preparing',
  'fetching',
  'unpacking',
  'training',
  'saving',
  'returning',
  'cleaning',
] as const;
export type Phase = (typeof phases)[number];

export const outcomes = ['success', 'wrong-output', 'failed', 'evicted', 'stopped', 'lost'] as const;
/** How an attempt ended; for a job, how its last attempt did. */
export type Outcome = (typeof outcomes)[number];

export interface FaultRecord {
  kind: FaultKind;
  message: string;
  fix?: string;
  about?: string;
  /** The cause by HTCondor's event log, more precise than the kind; not part of journals. */
  cause?: Cause;
}

/** How much of an object a server delivered. */
export interface ServerShare {
  server: string;
  bytes: number;
  /** The setting that put it first. */
  preferredBy?: string;
  /** Of a cache that reports its `Age`: bytes it had before it was asked, and bytes it had to fetch itself. */
  warmBytes?: number;
  coldBytes?: number;
}

/** A server that was not asked, and the setting that excluded it. */
export interface ServerLeftOut {
  server: string;
  by: string;
  why: (typeof leftOutReasons)[number];
}

export const leftOutReasons = ['avoided', 'no-token'] as const;

export type Verified = 'manifest' | 'digest' | 'size' | 'none';

/** Entries of the access point, in `journal.jsonl` of the run. */
export type RunBody =
  | {
      kind: 'run-created';
      run: string;
      name: string;
      pool: string;
      jobs: string[];
      planHash: string;
      version: string;
    }
  /** Canary batches of these sizes run before the rest: each one once all jobs before it have a valid result. */
  | { kind: 'canary-set'; rungs: number[] }
  /**
   * Jobs are submitted again, or for the first time after a canary batch. Round 1 starts with the run and has no
   * entry.
   */
  | { kind: 'round-started'; round: number; jobs: string[]; why: string }
  /** A trial that waited at its rung, by the results of all that reached it. One that goes on is in the next round. */
  | ({ kind: 'rung-judged'; job: string } & RungPlace)
  /** A scheduler is about to be asked. Before anyone asks again, the process `by` must have ended. */
  | { kind: 'submitting'; by: ProcessIdentity; round?: number }
  /** The scheduler accepted the jobs: process N of this cluster is job N of the run, or of the round's jobs. */
  | { kind: 'submitted'; cluster: number; round?: number }
  /** `was`: it started under this number, before its agent reported that the pool counts more starts. */
  | { kind: 'attempt-started'; job: string; attempt: number; why: string; was?: number }
  /** What the pool does for an attempt before and after its agent reports, and where. */
  | { kind: 'attempt-phase'; job: string; attempt: number; phase: Phase; host?: string; site?: string }
  /** The pool lost the connection to the machine, and tries to reconnect until then. */
  | { kind: 'attempt-disconnected'; job: string; attempt: number; until: string }
  | { kind: 'attempt-reconnected'; job: string; attempt: number }
  | {
      kind: 'attempt-ended';
      job: string;
      attempt: number;
      outcome: Outcome;
      /** The agent's exit code; null if a signal ended it or it was lost. */
      exit: number | null;
      fault?: FaultRecord;
      /** It only ran out of time: its last checkpoint is further than the one it started with. */
      movedOn?: boolean;
    }
  /** The scheduler holds the job until a user or a rule releases it. */
  | { kind: 'job-held'; job: string; fault: FaultRecord }
  | { kind: 'job-released'; job: string; why: string }
  /** `fault`: why, if no attempt has it, such as for a job that was removed while it waited. */
  | { kind: 'job-ended'; job: string; outcome: Outcome; results?: string; fault?: FaultRecord }
  /** `why` if the run's policy requests it rather than a user. */
  | { kind: 'stop-requested'; jobs: string[] | 'all'; why?: string }
  | { kind: 'run-ended'; succeeded: number; failed: number };

/** What a training may state about itself besides metrics. */
export const progressFields = [
  'epoch',
  'epochs',
  // What it calls its first epoch, if that is 0; else 1.
  'firstEpoch',
  'step',
  'steps',
  'loss',
  'accuracy',
  // Seconds it has waited for data since it started.
  'waited',
  // Samples, such as images, that it has used since it started.
  'samples',
  // How fast its host copies to its GPU, in bytes per second.
  'copyBytesPerSecond',
  // Checkpoints it has written since it started, and the seconds it waited for them.
  'saves',
  'saveSeconds',
  // Seconds between two checkpoints, as it chose them last.
  'saveEvery',
] as const;

/** `bare`: nothing above 1 so far, so fractions, unless other jobs of the run show that it is percentages. */
export const metricScales = ['bare', 'percent'] as const;
export type MetricScale = (typeof metricScales)[number];

export interface Progress extends Partial<Record<(typeof progressFields)[number], number>> {
  /** How many epochs are done, where the training reports an epoch at its end. */
  done?: number;
  /** What else it measures, such as `val_accuracy`. */
  metrics?: Record<string, number>;
}

/** Figures that a training reports, by name. */
export type Metrics = Readonly<Record<string, number>>;

/** More different names than this are not metrics, but counters or layers; the first ones count. */
export const maxMetrics = 32;
export const maxMetricName = 60;

export const refusedReasons = ['no-letter', 'too-long', 'too-many'] as const;

/** Metrics of a training that are not kept, because of their names. */
export interface RefusedMetrics {
  why: (typeof refusedReasons)[number];
  count: number;
  /** The first few. */
  examples: string[];
}

/** What the processes of a training have got of their machine. */
export interface Load {
  /** When it was measured: seconds of the agent's clock. */
  at: number;
  processes: number;
  /** How many of them the kernel lets wait for a disk now. */
  blocked: number;
  /** Seconds of a core that they have used, and waited for, since they started. */
  used: number;
  queued: number;
}

/** A request that is too small for what the attempt needs, in bytes or seconds. */
export interface RequestShort {
  of: 'memory' | 'time';
  needed: number;
  asked: number;
}

/** How a trial did at a rung. */
export interface RungPlace {
  /** From 1. */
  rung: number;
  /** Results at the rung, its own among them, and how many of them are better. */
  seen: number;
  better: number;
  /** False if the trial is stopped early. */
  goesOn: boolean;
}

/** What a trial reported at a rung, and how it did among those it knew of. */
export interface RungReport extends RungPlace {
  at: number;
  unit: 'epochs' | 'steps';
  metric: string;
  value: number;
  /** Its note did not reach the access point, so no other trial heard of it. */
  unheard?: boolean;
}

/** Where an attempt runs. */
export interface WorkerMachine {
  host: string;
  site?: string;
  /** Models of the slot's own GPUs, as the driver names them; in old journals, of all GPUs of the machine. */
  gpus: string[];
  /** The version of their driver. */
  driver?: string;
}

/** Entries of the execution point, in the attempt's `agent.jsonl`. */
export type AgentBody =
  | ({ kind: 'agent-started'; version: string; pid: number } & WorkerMachine)
  /** The slot's GPUs by `nvidia-smi`, and the version of their driver. */
  | { kind: 'gpus-found'; gpus: string[]; driver?: string }
  /**
   * How fast the slot is before the training uses it: what a core copies in memory, writes to disk and decodes
   * (`imagesPerSecond`: JPEG, 500 by 375 pixels), and copies from pinned memory to a GPU (`copyBytesPerSecond`).
   */
  | { kind: 'slot-probed'; figures: Metrics }
  | { kind: 'phase'; phase: Phase }
  /** The tests of the machine before any data moved, and their results. */
  | { kind: 'self-test'; checks: { name: string; ok: boolean; said: string }[] }
  | { kind: 'fetch-progress'; object: string; bytes: number; total?: number; rate: number; server: string }
  | { kind: 'fetch-setback'; object: string; server: string; fault: FaultRecord }
  | {
      kind: 'fetched';
      object: string;
      bytes: number;
      seconds: number;
      verified: Verified;
      servers: ServerShare[];
      /** Servers that were not asked. */
      leftOut?: ServerLeftOut[];
    }
  | { kind: 'unpacked'; object: string; files: number; bytes: number; proven: boolean }
  /** The job's environment is set up; `bytes` is the size of its archive. */
  | { kind: 'environment-ready'; how: string; seconds: number; bytes: number }
  | { kind: 'training-started'; pid: number; command: string }
  | ({ kind: 'progress' } & Progress)
  /**
   * What the attempt has reported of these metrics is void: it was printed, and now the training's file has them.
   * `recounted`: the file counts epochs from 1, and what was printed from 0.
   */
  | { kind: 'progress-replaced'; metrics: string[]; recounted?: boolean }
  /** How the accuracies are written that have no unit. */
  | { kind: 'progress-scaled'; scales: Record<string, MetricScale> }
  /** Counts all of this reason since the training started. */
  | ({ kind: 'metrics-refused' } & RefusedMetrics)
  /** The first epoch has ended; or, with `said`, takes far too long, and why the attempt stays anyway. */
  | { kind: 'first-epoch'; seconds: number; said?: string }
  /** `gpuPercent`: how busy its GPUs were, if that was measured since the last one. */
  | { kind: 'heartbeat'; memoryBytes: number; quietSeconds: number; gpuPercent?: number; load?: Load }
  /** A trial has reached a rung of its search. */
  | ({ kind: 'rung' } & RungReport)
  /** It uses more memory than requested, or will need more time; or no longer, if `needed` is not above `asked`. */
  | ({ kind: 'request-short' } & RequestShort)
  /** The checkpoint folder was saved; `sha256` is that of the list of its files. */
  | {
      kind: 'checkpoint-saved';
      files: number;
      bytes: number;
      sha256: string;
      seconds?: number;
      epoch?: number;
      step?: number;
    }
  /** The training resumes from the checkpoint of attempt `savedBy`; `otherCode`: its command or files have changed. */
  | { kind: 'checkpoint-restored'; savedBy: number; epoch?: number; step?: number; otherCode?: boolean }
  | { kind: 'checkpoint-refused'; reason: string }
  /** Whether a training with a checkpoint went past it, or started from scratch. */
  | { kind: 'resume-checked'; movedOn: boolean; epoch?: number; step?: number }
  /** The agent exits so that the pool can transfer the checkpoint, and is started again in the same sandbox. */
  | { kind: 'agent-paused' }
  /** `rank`: of several processes, the one that failed first. */
  | { kind: 'training-ended'; status: number | null; signal?: string; rank?: number }
  | { kind: 'output'; path: string; bytes: number; sha256: string }
  | { kind: 'fault'; fault: FaultRecord }
  /** How the attempt ended. Only its clean-up follows; in old journals, that came before. */
  | {
      kind: 'agent-ended';
      outcome: Outcome;
      exit: number;
      stoppedEarly?: boolean;
      /** Of a trial that ended at this rung, from 1, so that the next round can decide. */
      atRung?: number;
    }
  | { kind: 'clean-progress'; files: number; bytes: number }
  /** The scratch folder is removed; `by`: the pool removes it with the sandbox. */
  | { kind: 'cleaned'; files?: number; bytes: number; by?: 'pool' };

export interface Envelope {
  /** Version of the format. */
  v: 1;
  /**
   * ISO 8601 UTC with milliseconds: for people and for durations on one machine, never to order two machines'
   * entries.
   */
  t: string;
  /**
   * From 0, per file. Two processes that append at the same instant may write the same number; then the order of
   * lines decides.
   */
  seq: number;
  /** Lets other processes on the machine continue this entry's clock. */
  boot?: Boot;
}

export type AgentBodyOf<Kind extends AgentBody['kind']> = Extract<AgentBody, { kind: Kind }>;
export type RunEntry = Envelope & RunBody;
export type AgentEntry = Envelope & { job: string; attempt: number } & AgentBody;
export type ProgressEntry = Extract<AgentEntry, { kind: 'progress' }>;
/** What curves are made of. */
export type CurveEntry = Extract<AgentEntry, { kind: 'progress' | 'progress-replaced' | 'progress-scaled' }>;
export type Entry = RunEntry | AgentEntry;

/** A fault as it is written to a journal. */
export function toFaultRecord(fault: Fault): FaultRecord {
  const { kind, message, fix, about } = fault;
  return {
    kind,
    message,
    ...defined({ fix, about }),
  };
}
