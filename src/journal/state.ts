import type { FaultRecord, Outcome, Phase, Progress, ServerLeftOut, ServerShare, Verified } from './entry.ts';

/** A run as its journals tell it. Plain data: it goes into `--json` as it is. */
export interface RunState {
  /** The run's id; empty when the journal's first entry was lost. */
  run: string;
  name: string;
  pool: string;
  version: string;
  createdAt?: string;
  /** Set while every job has ended, or those that went ahead have and one of them failed as a canary. */
  endedAt?: string;
  /** Sizes of the rungs in which the jobs go ahead, where that was asked for. */
  canary?: number[];
  /** How often jobs were handed to the pool. */
  rounds: number;
  stopRequested: boolean;
  jobs: JobState[];
  tally: JobCounts;
  /** Journal lines that could not be understood. */
  garbled: number;
  /** Why there may be more to tell than this. */
  trouble?: AccountTrouble;
}

/** What happened to a file that tells of the run, and what to do about it. */
export interface AccountTrouble {
  message: string;
  fix: string;
  /** Nothing that the file told is known any more. */
  isAllLost?: true;
}

/** Jobs by how they stand; the parts add up to `total`. */
export interface JobCounts extends Record<Outcome, number> {
  total: number;
  /** No attempt yet, or between two; also those of which nobody can tell. */
  waiting: number;
  running: number;
}

export interface JobState {
  id: string;
  status: 'waiting' | 'running' | 'ended';
  outcome?: Outcome;
  /** Folder with the valid outputs. */
  results?: string;
  endedAt?: string;
  /** Why the scheduler keeps the job back, while it does. */
  held?: FaultRecord;
  /** How often it did so. */
  holds?: number;
  /** Why it ended, where none of its attempts says it. */
  fault?: FaultRecord;
  stopRequested: boolean;
  /** Whether it waits for the jobs that went ahead of it as canaries. */
  isKeptBack?: true;
  /** Nobody can tell how it stands: the pool's account of it is lost. */
  isUntold?: true;
  /** The round it was last handed to the pool in; the first when it is not told. */
  round?: number;
  /** The attempts of earlier rounds: they do not count against this one. */
  attemptsBefore?: number;
  attempts: AttemptState[];
}

/** One attempt: what the access point knows of it, and what its agent said. */
export interface AttemptState {
  job: string;
  attempt: number;
  why: string;
  /** By the access point's clock: when the job began to wait for this attempt, when it began and ended. */
  waitingSince?: string;
  startedAt?: string;
  endedAt?: string;
  outcome?: Outcome;
  exit?: number | null;
  fault?: FaultRecord;
  /** Only time was lacking: it left a checkpoint further on than the one it began with. */
  movedOn?: boolean;
  /** The agent's, while it speaks; before and after, what the pool does; `queued` until either is known. */
  phase: Phase;
  pool?: PoolAccount;
  /** What the agent said; undefined until it speaks. */
  agent?: AgentState;
  /** When the agent's journal last grew, by the access point's file system, in milliseconds. */
  heardAt?: number;
}

/** What the pool itself did for an attempt, by the access point's clock. */
export interface PoolAccount {
  phase: Phase;
  since: string;
  host?: string;
  site?: string;
  /** While it has lost touch with the machine: since when, and when it gives the attempt up. */
  disconnected?: Disconnected;
  /** Milliseconds in which it moved input to the attempt and output from it, ran what has no agent, and cleaned up after it. */
  millis: { fetching: number; training: number; returning: number; cleaning: number };
}

/** ISO 8601. */
export interface Disconnected {
  since: string;
  until: string;
}

/** One attempt as its agent tells it. Every time is by the agent's own clock. */
export interface AgentState {
  version: string;
  host: string;
  site?: string;
  gpus: string[];
  startedAt: string;
  /** The last entry's time: what came after is unknown. */
  lastAt: string;
  phase: Phase;
  /** Milliseconds per phase up to `lastAt`; `unknown` is the gap before an agent that was started again. */
  millis: Record<Phase | 'unknown', number>;
  fetches: FetchState[];
  training?: TrainingState;
  /** The last checkpoint that was kept. */
  checkpoint?: CheckpointState;
  /** The checkpoint the training was given. */
  resumed?: ResumeState;
  /** Why kept checkpoints could not be used. */
  refused?: string[];
  /** It left for a moment, so that the pool could take the checkpoint away. */
  paused?: boolean;
  memoryBytes?: number;
  /** The most memory it was seen to use. */
  peakMemoryBytes?: number;
  quietSeconds?: number;
  /** What the machine lacked when it was asked before any data moved. */
  lacks?: { name: string; said: string }[];
  /** Fetching that stood still until a server was given up. */
  stall?: StallState;
  /** Milliseconds in which our plugin was at work before the agent began; the pool counts them as its own, too. */
  broughtMillis?: number;
  outputs: { path: string; bytes: number; sha256: string }[];
  faults: FaultRecord[];
  /** Once it is set, all that the attempt has is handed over, and only its clean-up is to come. */
  outcome?: Outcome;
  exit?: number;
  /** What its clean-up has removed so far. */
  removed?: { files: number; bytes: number };
}

export interface StallState {
  /** Milliseconds, part of `millis.fetching`. */
  millis: number;
  /** When bytes last came, or a server was last given up. */
  since: string;
  /** When bytes last came, or fetching began. */
  bytesAt: string;
}

export interface FetchState {
  object: string;
  bytes: number;
  total?: number;
  /** Bytes per second; 0 once it is done. */
  rate: number;
  server: string;
  setbacks: { server: string; fault: FaultRecord }[];
  done: boolean;
  verified?: Verified;
  seconds?: number;
  /** Who gave how much, once it is done. */
  servers?: ServerShare[];
  leftOut?: ServerLeftOut[];
  unpackedFiles?: number;
}

export interface CheckpointState {
  savedAt: string;
  files: number;
  bytes: number;
  epoch?: number;
  step?: number;
}

export interface ResumeState {
  /** The attempt that saved it. */
  savedBy: number;
  epoch?: number;
  step?: number;
  /** It was saved by another command, or with other files. */
  otherCode?: boolean;
  /** Whether the training went past it; false when it began again at its start; undefined until it tells. */
  movedOn?: boolean;
}

export interface TrainingState extends Progress {
  command: string;
  /** Seconds that earlier starts of it in the same attempt waited for data. */
  waitedBefore?: number;
  /** Exit status; null after a signal; undefined while it runs. */
  status?: number | null;
  signal?: string;
}

/** Whether the pool still has it: also a job that it holds for good. */
export const isOpen = ({ status, held }: JobState): boolean => status !== 'ended' || held !== undefined;

/**
 * When a run ended; undefined while it has not. It has when every job has, and also when all that went ahead have
 * and one of them failed: then those that are kept back stay so. Pure.
 */
export function runEndedAt(jobs: readonly JobState[]): string | undefined {
  const ended = jobs.filter(({ status }) => status === 'ended');
  const left = jobs.filter(({ status }) => status !== 'ended');
  if (ended.length === 0 || !left.every(({ isKeptBack }) => isKeptBack)) return undefined;
  if (left.length > 0 && ended.every(({ outcome }) => outcome === 'success')) return undefined;
  return ended.map(({ endedAt }) => endedAt ?? '').reduce((a, b) => (a > b ? a : b));
}
