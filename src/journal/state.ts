import { counted } from '@updraft/base';
import type { MetricDirections } from '@updraft/base/training';
import type {
  AgentBodyOf,
  CurveEntry,
  FaultRecord,
  MetricScale,
  Outcome,
  Phase,
  Progress,
  RefusedMetrics,
  RequestShort,
  ServerLeftOut,
  ServerShare,
  Verified,
  WorkerMachine,
} from './entry.ts';

/** A run according to its journals. Plain data, printed unchanged by `--json`. */
export interface RunState {
  /** The run's id; empty if the journal's first entry was lost. */
  run: string;
  name: string;
  pool: string;
  version: string;
  createdAt?: string;
  /** Set while every job has ended, or every canary has and one of them failed. */
  endedAt?: string;
  /** Sizes of the canary batches, if requested. */
  canary?: number[];
  /** How often jobs were submitted. */
  rounds: number;
  stopRequested: boolean;
  jobs: JobState[];
  tally: JobCounts;
  /** Journal lines that could not be parsed. */
  garbled: number;
  /** Where they are, if there are any. */
  damaged?: Damage[];
  /** Why this state may be incomplete. */
  trouble?: AccountTrouble;
}

/** Lines of a file of the run that could not be parsed. */
export interface Damage {
  /** Relative to the run's folder. */
  file: string;
  lines: number;
  /** Number of the first line, if known. */
  first?: number;
}

/** Files named before the others are only counted. */
const maxDamaged = 3;

/** A sentence about the unreadable lines of a run's journals; undefined if there are none. */
export function describeDamage({ run, garbled, damaged = [] }: RunState): string | undefined {
  if (garbled === 0) return undefined;
  const named = damaged.slice(0, maxDamaged).map(({ file, lines, first }) => {
    const count = lines.toLocaleString('en-US');
    if (first === undefined) return `${file} (${count})`;
    return `${file} line ${first}${lines > 1 ? ` (first of ${count})` : ''}`;
  });
  const more = damaged.length > maxDamaged ? ` and ${counted(damaged.length - maxDamaged, 'more file')}` : '';
  return `Ignored ${counted(garbled, 'unreadable line')} in the files of ${run}: ${named.join(', ')}${more}.`;
}

/** What is wrong with a file that the state comes from, and what to do about it. */
export interface AccountTrouble {
  message: string;
  fix: string;
  /** Nothing of the file's contents is known. */
  isAllLost?: true;
}

/** Jobs by state; the parts add up to `total`. */
export interface JobCounts extends Record<Outcome, number> {
  total: number;
  /** No attempt yet, or between two; also jobs whose state is unknown. */
  waiting: number;
  running: number;
}

export interface JobState {
  id: string;
  /** Its values of the matrix, from the plan; the journals do not have them. */
  parameters?: Readonly<Record<string, string | number | boolean>>;
  /** Its name among the run's jobs, from the plan too: the values in which they differ, `lr=0.1 seed=2`. */
  name?: string;
  /** Which values of its metrics are better, from the plan too. */
  directions?: MetricDirections;
  /** Accuracies that some job of its run writes as percentages; absent if none does. */
  percentages?: readonly string[];
  status: 'waiting' | 'running' | 'ended';
  outcome?: Outcome;
  /** Folder with the valid outputs. */
  results?: string;
  endedAt?: string;
  /** Why the scheduler holds the job, while it does. */
  held?: FaultRecord;
  /** How often it was held. */
  holds?: number;
  /** Why it ended, if none of its attempts has the fault. */
  fault?: FaultRecord;
  stopRequested: boolean;
  /** It waits for the canaries before it. */
  isKeptBack?: true;
  /** Its state is unknown, because the pool's log is lost. */
  isUntold?: true;
  /** The round in which it was last submitted (default: 1). */
  round?: number;
  /** The attempts of earlier rounds: they do not count against this one. */
  attemptsBefore?: number;
  attempts: AttemptState[];
}

/** One attempt: what the access point knows about it, and what its agent reported. */
export interface AttemptState {
  job: string;
  attempt: number;
  why: string;
  /** By the access point's clock: when the job began to wait for this attempt, when it started and ended. */
  waitingSince?: string;
  startedAt?: string;
  endedAt?: string;
  outcome?: Outcome;
  exit?: number | null;
  fault?: FaultRecord;
  /** It only ran out of time: its last checkpoint is further than the one it started with. */
  movedOn?: boolean;
  /** The agent's phase while it works; before and after, the pool's; `queued` until either is known. */
  phase: Phase;
  pool?: PoolAccount;
  /** What the agent reported; undefined until it starts. */
  agent?: AgentState;
  /** When the agent's journal last grew, by the access point's file system, in milliseconds. */
  heardAt?: number;
}

/** What the pool did for an attempt, by the access point's clock. */
export interface PoolAccount {
  phase: Phase;
  /** The phase before. */
  after?: Phase;
  since: string;
  host?: string;
  site?: string;
  /** Set while the pool has no connection to the machine. */
  disconnected?: Disconnected;
  /** Milliseconds in which it transferred input and output, ran a job without an agent, and cleaned up. */
  millis: { fetching: number; training: number; returning: number; cleaning: number };
}

/** ISO 8601; at `until` the pool gives up the attempt. */
export interface Disconnected {
  since: string;
  until: string;
}

/** One attempt according to its agent. All times are by the agent's clock. */
export interface AgentState extends WorkerMachine {
  version: string;
  /** How busy they were while it trained: the mean in percent, over how many samples. */
  gpuUse?: { percent: number; samples: number };
  startedAt: string;
  /** Time of the last entry: what came after is unknown. */
  lastAt: string;
  phase: Phase;
  /** Milliseconds per phase up to `lastAt`; `unknown` is the gap before an agent that was started again. */
  millis: Record<Phase | 'unknown', number>;
  fetches: FetchState[];
  training?: TrainingState;
  /** The last checkpoint that was saved. */
  checkpoint?: CheckpointState;
  /** The checkpoint the training was given. */
  resumed?: ResumeState;
  /** What became of its training, in milliseconds of it. */
  work?: {
    /** How much each of its last checkpoints has. */
    saved: { trained: number; epoch?: number; step?: number }[];
    /** How much it did again in another start, up to `until`. */
    discarded: number;
    until: number;
  };
  /** Why saved checkpoints could not be used. */
  refused?: string[];
  /** It exited so that the pool could transfer the checkpoint. */
  paused?: boolean;
  memoryBytes?: number;
  /** The highest memory use measured. */
  peakMemoryBytes?: number;
  quietSeconds?: number;
  /** Requests that are too small for what the attempt needs. */
  short?: Partial<Record<RequestShort['of'], Omit<RequestShort, 'of'>>>;
  /** Failed tests of the machine before any data moved. */
  lacks?: { name: string; said: string }[];
  /** Time in which fetching stalled until a server was given up. */
  stall?: StallState;
  /** Milliseconds in which our plugin worked before the agent started; the pool counts them too. */
  broughtMillis?: number;
  outputs: Omit<AgentBodyOf<'output'>, 'kind'>[];
  faults: FaultRecord[];
  /** Once it is set, everything is returned and only the clean-up follows. */
  outcome?: Outcome;
  exit?: number;
  /** What the clean-up has removed so far. */
  removed?: { files: number; bytes: number };
}

export interface StallState {
  /** Milliseconds, part of `millis.fetching`. */
  millis: number;
  /** When bytes last arrived, or a server was last given up. */
  since: string;
  /** When bytes last arrived, or fetching began. */
  bytesAt: string;
}

/** Its rate, in bytes per second, is 0 once it is done. */
export interface FetchState extends Omit<AgentBodyOf<'fetch-progress'>, 'kind'> {
  setbacks: { server: string; fault: FaultRecord }[];
  done: boolean;
  verified?: Verified;
  seconds?: number;
  /** How much each server delivered, once it is done. */
  servers?: ServerShare[];
  leftOut?: ServerLeftOut[];
  unpackedFiles?: number;
}

export interface CheckpointState extends Omit<
  AgentBodyOf<'checkpoint-saved'>,
  'kind' | 'sha256' | 'seconds'
> {
  savedAt: string;
}

export interface ResumeState extends Omit<AgentBodyOf<'checkpoint-restored'>, 'kind'> {
  /** Whether the training went past it; false if it started from scratch; undefined until it reports. */
  movedOn?: boolean;
  /** After a pause it resumes from its own: what it had before, whose work it still has. */
  before?: ResumeState;
}

export interface TrainingState extends Progress {
  command: string;
  /** Seconds that its earlier starts in the same attempt waited for data. */
  waitedBefore?: number;
  /** Checkpoints of those starts, and the seconds they waited for them. */
  savedBefore?: { saves: number; seconds: number };
  /** Exit code; null after a signal; undefined while it runs. */
  status?: number | null;
  signal?: string;
  /** The best value of each metric so far, by its name. */
  best?: Readonly<Record<string, number>>;
  /** The other extreme of each: the best, if the job file says so. */
  worst?: Readonly<Record<string, number>>;
  /** What is left of them if a later attempt starts earlier. */
  turns?: CurveTurns;
  /** How accuracies without a unit are written. */
  scales?: Readonly<Record<string, MetricScale>>;
  /** Metrics that are not kept. */
  refused?: RefusedMetrics[];
  pace?: TrainingPace;
}

/** More of them are joined two by two. */
const maxTurns = 256;

/** An attempt's first report, and those in which a metric was better or worse than ever: its extremes up to any point. */
export class CurveTurns {
  readonly entries: CurveEntry[];

  constructor(entries: readonly CurveEntry[] = []) {
    this.entries = [...entries];
  }

  add(entry: CurveEntry): void {
    const all = this.entries;
    all.push(entry);
    if (all.length <= maxTurns) return;
    for (let at = 1; at + 1 < all.length; at++) {
      const [one, next] = [all[at], all[at + 1]];
      if (one?.kind !== 'progress' || next?.kind !== 'progress') continue;
      all.splice(at, 2, { ...one, ...next, metrics: { ...one.metrics, ...next.metrics } });
    }
  }

  /** Not for `--json`. */
  toJSON(): undefined {
    return undefined;
  }
}

/** How fast a training goes, by what it reports since it was last started. */
export interface TrainingPace {
  /** The first report of epochs, in epochs done, and of samples. */
  epochsFrom?: { done: number; at: string };
  samplesFrom?: { samples: number; at: string };
  /** The mean of an epoch, once half an epoch is known. */
  epochSeconds?: number;
  samplesPerSecond?: number;
}

/** Whether the pool still has the job; true for one that it holds for good. */
export const isOpen = ({ status, held }: JobState): boolean => status !== 'ended' || held !== undefined;

/**
 * When a run ended; undefined while it has not. It ends when every job has ended, or when every canary has and one of
 * them failed: then the jobs that are kept back are never submitted. Pure.
 */
export function runEndedAt(jobs: readonly JobState[]): string | undefined {
  const ended = jobs.filter(({ status }) => status === 'ended');
  const left = jobs.filter(({ status }) => status !== 'ended');
  if (ended.length === 0 || !left.every(({ isKeptBack }) => isKeptBack)) return undefined;
  if (left.length > 0 && ended.every(({ outcome }) => outcome === 'success')) return undefined;
  return ended.map(({ endedAt }) => endedAt ?? '').reduce((a, b) => (a > b ? a : b));
}
