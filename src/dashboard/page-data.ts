import type { BarRow } from '@updraft/view/charts';

/**
 * What the server sends to the page. Imports nothing of either: the page is compiled against it with the types of a
 * browser, the server with those of Node.
 */

/** The page shows each by colour and by a mark. */
export type Tone = 'good' | 'busy' | 'idle' | 'warn' | 'bad';

/** Figures of the run: small, and sent completely with every change. */
export interface Board {
  run: string;
  name: string;
  pool: string;
  /** Where the run's folder is, for the reader. */
  place: string;
  createdAt: number | null;
  endedAt: number | null;
  /** When these figures were made, in milliseconds since the epoch. */
  at: number;
  jobs: number;
  /** What jobs have measured, those first that most likely decide. */
  metrics: BoardMetric[];
  counts: { label: string; jobs: number; tone: Tone }[];
  verdict: { tone: Tone; headline: string; detail: string };
  wrong: Problem[];
  doing: { what: string; jobs: number }[];
  wasted: { headline: string; detail: string; verdict: string };
  /** Tables of the report as markup. */
  tables: string;
  /** What could not be read of the journals. */
  damage: string | null;
  /** Why the figures may be outdated: the run's folder cannot be read now. */
  trouble: string | null;
  /** Why the figures may be incomplete: a file of the run is missing or damaged. */
  account: { message: string; fix: string } | null;
  stop: Action | null;
  retry: Action | null;
}

export interface BoardMetric {
  name: string;
  /** Whether a smaller value is the better one. */
  isLowerBetter: boolean;
}

/** A button and its equivalent command. Null means no button. */
export interface Action {
  command: string;
}

export interface Problem {
  /** Cause or kind of fault. */
  cause: string;
  what: string;
  jobs: number;
  /** The first few of them. */
  examples: string[];
  /** The message of one of them. */
  message: string;
  fix: string;
  /** Only the user can fix it. */
  needsYou: boolean;
}

export type ParameterValue = string | number | boolean;

export interface BoardRow {
  id: string;
  /** Its values of the matrix; empty where all jobs are alike. */
  parameters: Readonly<Record<string, ParameterValue>>;
  /** Those in which the jobs differ: `lr=0.1 seed=2`. */
  name?: string;
  /** What it measured last. */
  metrics: Readonly<Record<string, number>>;
  /** Its best values, where they are not the last. */
  best?: Readonly<Record<string, number>>;
  /** What it measured last where that is no finite number: NaN, Infinity or -Infinity. */
  diverged?: Readonly<Record<string, string>>;
  state: string;
  tone: Tone;
  where: string;
  figures: string;
  note: string;
  bars: AttemptBar[];
}

export interface AttemptBar {
  attempt: number;
  outcome: string;
  /** Milliseconds since the epoch. */
  from: number;
  parts: Part[];
}

export type Part = [phase: string, millis: number];

/** An event of the stream. */
export interface BoardUpdate {
  board: Board;
  rows: BoardRow[];
  /** Forget all earlier rows. */
  reset: boolean;
}

export interface JobDetail {
  id: string;
  /** As `updraft why` explains it. */
  explanation: { cause: string; headline: string; because: string[]; doing: string[]; advice: string[] };
  attempts: {
    attempt: number;
    outcome: string;
    why: string;
    where: string;
    fault: string;
    fix: string;
    /** From what it resumed, what it saved, what its machine lacked. */
    notes: string[];
    parts: Part[];
  }[];
  /** What it did over the seconds since its first attempt. */
  lanes: BarRow[];
  commands: { what: string; command: string }[];
  stop: Action | null;
  retry: Action | null;
}

/** One metric of all jobs, the attempts of each as one curve. */
export interface MetricCurves {
  metric: string;
  /** What its points can be counted in: the first unless the reader chooses. */
  units: CurveX[];
  /** False while journals are still being read. */
  isComplete: boolean;
  /** By job: the x of its points for each of the units, and their values. */
  curves: Record<string, { x: number[][]; y: number[] }>;
}

/** Time is in seconds since the job's first report. */
export type CurveX = 'epochs' | 'steps' | 'reports' | 'time';

/** A file that can be downloaded; the name is its path in the job's results. */
export interface ResultFile {
  name: string;
  bytes: number;
}

export interface LogPart {
  text: string;
  /** Bytes of the entire log. */
  size: number;
  /** Where the text starts in the log. */
  from: number;
}

/** Embedded in the page, for its start. */
export interface Opening {
  /** `live` asks the server at `base`; `static` is self-contained. */
  mode: 'live' | 'static';
  base: string;
  runs: { name: string; href: string; current: boolean }[];
  change: BoardUpdate;
  details: Record<string, JobDetail>;
  /** By metric; a live page asks for them. */
  curves: Record<string, MetricCurves>;
  /** The phases of an attempt in their order; the style has a colour and a pattern for each. */
  phases: readonly string[];
  version: string;
}
