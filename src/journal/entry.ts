import type { Boot } from '../base/clock.ts';
import { defined } from '../base/defined.ts';
import type { ProcessIdentity } from '../base/process-identity.ts';
import type { Cause } from '../codes/causes.ts';
import type { Fault } from '../fault/fault.ts';
import type { FaultKind } from '../fault/kinds.ts';

/** What an attempt is doing. `queued` is between attempts, before an agent speaks. */
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
  /** What HTCondor's account of it comes from, which says more than the kind; no journal has it. */
  cause?: Cause;
}

/** How far the bytes were proven. */
/** What a server gave of an object. */
export interface ServerShare {
  server: string;
  bytes: number;
  /** Who asked for it to be tried first. */
  preferredBy?: string;
}

/** A server that was not asked, and who wanted it so. */
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
  /** Jobs go ahead in rungs of these sizes, then the rest: each rung once all before it have a valid result. */
  | { kind: 'canary-set'; rungs: number[] }
  /** Jobs are handed to the pool again, or for the first time after a rung. Round 1 is the run's beginning, and is not told. */
  | { kind: 'round-started'; round: number; jobs: string[]; why: string }
  /** A scheduler is about to be asked; `by` is the process that asks, whose end must be waited for before asking again. */
  | { kind: 'submitting'; by: ProcessIdentity; round?: number }
  /** The scheduler has taken the jobs: job N of the run is N in this cluster, and in a later round the N-th of its jobs. */
  | { kind: 'submitted'; cluster: number; round?: number }
  | { kind: 'attempt-started'; job: string; attempt: number; why: string }
  /** What the pool does for an attempt before and after its agent speaks, and where. */
  | { kind: 'attempt-phase'; job: string; attempt: number; phase: Phase; host?: string; site?: string }
  /** The pool has lost touch with the machine, and tries to find it again until then; and that it has. */
  | { kind: 'attempt-disconnected'; job: string; attempt: number; until: string }
  | { kind: 'attempt-reconnected'; job: string; attempt: number }
  | {
      kind: 'attempt-ended';
      job: string;
      attempt: number;
      outcome: Outcome;
      /** The agent's exit code, or null when it ended by a signal or was lost. */
      exit: number | null;
      fault?: FaultRecord;
      /** Only time was lacking: it left a checkpoint further on than the one it began with. */
      movedOn?: boolean;
    }
  /** The scheduler keeps the job back until somebody, or a rule, releases it. */
  | { kind: 'job-held'; job: string; fault: FaultRecord }
  | { kind: 'job-released'; job: string; why: string }
  /** `fault`: why, where no attempt says it, as of a job that was removed while it waited. */
  | { kind: 'job-ended'; job: string; outcome: Outcome; results?: string; fault?: FaultRecord }
  /** `why` where the rules of the run ask for it, and nobody else. */
  | { kind: 'stop-requested'; jobs: string[] | 'all'; why?: string }
  | { kind: 'run-ended'; succeeded: number; failed: number };

/** What a training said about how far it is. */
export interface Progress {
  epoch?: number;
  epochs?: number;
  step?: number;
  steps?: number;
  loss?: number;
  accuracy?: number;
  /** Seconds that it has waited for its data since it started. */
  waited?: number;
}

/** Entries of the execution point, in the attempt's `agent.jsonl`. */
export type AgentBody =
  | {
      kind: 'agent-started';
      version: string;
      host: string;
      pid: number;
      site?: string;
      gpus: string[];
    }
  | { kind: 'phase'; phase: Phase }
  /** What the machine was asked before any data moved, and what it said. */
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
  /** The software that came with the job is up; `bytes` is its archive. */
  | { kind: 'environment-ready'; how: string; seconds: number; bytes: number }
  | { kind: 'training-started'; pid: number; command: string }
  | ({ kind: 'progress' } & Progress)
  /** The first epoch is over, or, with `said`, takes far too long, and why the attempt stays all the same. */
  | { kind: 'first-epoch'; seconds: number; said?: string }
  | { kind: 'heartbeat'; memoryBytes: number; quietSeconds: number }
  /** What the training left in its checkpoint folder is kept; `sha256` is that of the list of its files. */
  | {
      kind: 'checkpoint-saved';
      files: number;
      bytes: number;
      sha256: string;
      seconds?: number;
      epoch?: number;
      step?: number;
    }
  /** The training goes on from what attempt `savedBy` kept; `otherCode` when its command or files differ from then. */
  | { kind: 'checkpoint-restored'; savedBy: number; epoch?: number; step?: number; otherCode?: boolean }
  | { kind: 'checkpoint-refused'; reason: string }
  /** Whether a training that was given a checkpoint went past it, or began again at its start. */
  | { kind: 'resume-checked'; movedOn: boolean; epoch?: number; step?: number }
  /** The agent leaves so that the pool takes the checkpoint away, and is started again in the same place. */
  | { kind: 'agent-paused' }
  | { kind: 'training-ended'; status: number | null; signal?: string }
  | { kind: 'output'; path: string; bytes: number; sha256: string }
  | { kind: 'fault'; fault: FaultRecord }
  /** How the attempt ended; what follows is its clean-up, after which nobody waits. Before, in journals of old. */
  | { kind: 'agent-ended'; outcome: Outcome; exit: number }
  | { kind: 'clean-progress'; files: number; bytes: number }
  /** The scratch folder is gone; `by` when it is left to the pool, which removes it with the sandbox. */
  | { kind: 'cleaned'; files?: number; bytes: number; by?: 'pool' };

interface Envelope {
  /** Version of the format. */
  v: 1;
  /** ISO 8601 UTC with milliseconds: for reading and for durations on one machine, never for ordering two. */
  t: string;
  /**
   * From 0, per file. Two processes that append in the same instant may write the same number; then the order of
   * the lines decides.
   */
  seq: number;
  /** By which other processes on the machine go on with the clock of this entry. */
  boot?: Boot;
}

export type RunEntry = Envelope & RunBody;
export type AgentEntry = Envelope & { job: string; attempt: number } & AgentBody;
export type Entry = RunEntry | AgentEntry;

/** A fault as the journal keeps it. */
export function toFaultRecord(fault: Fault): FaultRecord {
  const { kind, message, fix, about } = fault;
  return {
    kind,
    message,
    ...defined({ fix, about }),
  };
}
