/**
 * What the server tells the page. Plain data that imports nothing: the page is checked against it with the types
 * of a browser, the server with those of Node.
 */

/** How something stands, beyond colour: the page gives each its mark and its words. */
export type Tone = 'good' | 'busy' | 'idle' | 'warn' | 'bad';

/** The run in figures: small, and sent whole with every change. */
export interface Board {
  run: string;
  name: string;
  pool: string;
  /** Where the run's folder is, as a person would say. */
  place: string;
  createdAt: number | null;
  endedAt: number | null;
  /** When these figures were made, in milliseconds since the epoch. */
  at: number;
  jobs: number;
  counts: { label: string; jobs: number; tone: Tone }[];
  verdict: { tone: Tone; headline: string; detail: string };
  wrong: Problem[];
  doing: { what: string; jobs: number }[];
  waste: Waste;
  sites: SiteFigures[];
  caches: CacheFigures[];
  /** Lines of the journals that could not be read. */
  garbled: number;
  /** Why the figures may be old: the run's folder cannot be read now. */
  trouble: string | null;
  /** Why there may be more to tell than the figures do: a file that tells of the run is gone or damaged. */
  account: { message: string; fix: string } | null;
  stop: Action | null;
  retry: Action | null;
}

/** A button of the page: the command that does the same, and whether it can be done from here. No button when null. */
export interface Action {
  command: string;
  here: boolean;
}

export interface Problem {
  /** Name of the fault kind or of what ails. */
  cause: string;
  what: string;
  jobs: number;
  /** The first few of them. */
  examples: string[];
  /** What one of them said, and what can be done. */
  message: string;
  fix: string;
  /** Nobody but the user will do anything about it. */
  needsYou: boolean;
}

/** Time on slots in milliseconds; all but `queued` add up to `slot`. */
export interface Waste {
  slot: number;
  useful: number;
  /** Data, checkpoints and results. */
  moving: number;
  /** Set-up and clean-up, of ours and of the pool's. */
  overhead: number;
  /** What nobody has told of. */
  unknown: number;
  /** Attempts still under way. */
  open: number;
  lost: { cause: string; what: string; millis: number; attempts: number }[];
  queued: number;
}

export interface SiteFigures {
  site: string;
  attempts: number;
  success: number;
  running: number;
  lost: number;
  training: number;
  slot: number;
}

export interface CacheFigures {
  server: string;
  fetches: number;
  bytes: number;
  /** Bytes per second over all finished fetches; null before the first. */
  meanRate: number | null;
  /** Bytes per second now. */
  rate: number;
  setbacks: number;
  lastSetback: string;
}

export interface BoardRow {
  id: string;
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

/** A phase and its milliseconds. */
export type Part = [phase: string, millis: number];

/** What one event of the stream carries. */
export interface BoardUpdate {
  board: Board;
  rows: BoardRow[];
  /** Forget all rows told before. */
  reset: boolean;
}

/** All there is to tell of one job. */
export interface JobDetail {
  id: string;
  /** What `updraft why` says of it. */
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
  curve: { unit: 'epochs' | 'steps' | 'reports'; points: CurvePoint[] };
  commands: { what: string; command: string }[];
  stop: Action | null;
  retry: Action | null;
}

export interface CurvePoint {
  attempt: number;
  /** In the curve's unit. */
  x: number;
  loss: number;
}

export interface LogPart {
  text: string;
  /** Bytes of the whole log. */
  size: number;
  /** Where the text begins in it. */
  from: number;
}

/** What the page finds in itself when it opens. */
export interface Opening {
  /** `live` asks the server at `base`; `static` has everything in it. */
  mode: 'live' | 'static';
  base: string;
  runs: { name: string; href: string; current: boolean }[];
  change: BoardUpdate;
  details: Record<string, JobDetail>;
  /** What an attempt can be at, in the order in which it comes; each has its colour and its pattern in the style. */
  phases: readonly string[];
  version: string;
}
