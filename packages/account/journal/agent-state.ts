import type {
  AgentBodyOf,
  CurveEntry,
  FaultRecord,
  Load,
  MetricScale,
  Metrics,
  Outcome,
  Phase,
  Progress,
  RefusedMetrics,
  RequestShort,
  RungReport,
  ServerLeftOut,
  ServerShare,
  Verified,
  WorkerMachine,
} from './entry.ts';

/** One attempt according to its agent. All times are by the agent's clock. */
export interface AgentState extends WorkerMachine {
  version: string;
  /**
   * How busy they were while it trained: the mean in percent, over how many samples; and when they were idle in all
   * samples since.
   */
  gpuUse?: { percent: number; samples: number; idle?: { from: string; to: string } };
  /** How fast its slot is, by name. */
  slot?: Metrics;
  /** What its processes got of the machine while it trained. */
  load?: LoadState;
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
  /** Of a trial: it ended because its search stopped it. */
  stoppedEarly?: boolean;
  /** Of a trial: the rung at which it ended for the next round to decide. */
  atRung?: number;
  /** What the clean-up has removed so far. */
  removed?: { files: number; bytes: number };
}

export interface LoadState {
  last: Load;
  /** Samples, each about the time since the one before, and that time. */
  samples: number;
  seconds: number;
  /** Sums over them. */
  used: number;
  queued: number;
  processes: number;
  blocked: number;
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
  /** The rungs of its search that it has reached, and when. */
  rungs?: (RungReport & { t?: string })[];
}

/** More of them are joined two by two. */
const maxTurns = 256;

/**
 * An attempt's first report, and those in which a metric was better or worse than ever: its extremes up to any
 * point.
 */
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
