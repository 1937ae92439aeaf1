import { counted } from '@updraft/base';
import type { AttemptHistory, JobHistory, JobOutcome } from '../history/history.ts';
import type { Entry, FaultRecord, Metrics, Outcome, Phase, RungPlace } from './entry.ts';
import type { AgentState } from './agent-state.ts';

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

/** Jobs by outcome; the parts add up to `total`. Jobs whose state is unknown wait. */
export interface JobCounts extends Record<JobOutcome, number> {
  total: number;
}

/** What a run's journals know of a job besides its history. */
interface JobFacts {
  status: 'waiting' | 'running' | 'ended';
  /** Folder with the valid outputs. */
  results?: string;
  /** Set while it has ended. */
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
  /** Of a trial that is kept back: the rung at which it waits for the next round of its search. */
  atRung?: number;
  /** Of a trial: how it did at the last rung that a round has judged. */
  judged?: RungPlace;
  /** Its state is unknown, because the pool's log is lost. */
  isUntold?: true;
  /** When it was added to its run, if that was later. */
  addedAt?: string;
  /** The round in which it was last submitted (default: 1). */
  round?: number;
  /** The attempts of earlier rounds: they do not count against this one. */
  attemptsBefore?: number;
}

/** A job of a run: its history, and what else the run's journals know. */
export interface JobState extends JobHistory, JobFacts {
  attempts: readonly AttemptState[];
  /** What it measured, the latest value of each and the best. */
  metrics: Metrics;
  best: Metrics;
  /** Accuracies that some job of its run writes as percentages; absent if none does. */
  percentages?: readonly string[];
  /** The number of its combination in the order of the job file. */
  rank?: number;
}

/**
 * An attempt of a run: its history, and what else the run's journals know. `status --json` also prints the journal's
 * own `attempt` and `outcome`, as earlier versions did.
 */
export interface AttemptState extends AttemptHistory, Omit<FoldedAttempt, 'attempt' | 'outcome' | 'logged'> {}

/** A job while its entries are folded. */
export interface FoldedJob extends JobFacts {
  id: string;
  outcome?: Outcome;
  attempts: FoldedAttempt[];
}

/** One attempt: what the access point knows about it, and what its agent reported. */
export interface FoldedAttempt {
  job: string;
  attempt: number;
  why: string;
  /** By the access point's clock: when the job began to wait for this attempt, when it started and ended. */
  waitingSince?: string;
  startedAt?: string;
  endedAt?: string;
  outcome?: Outcome;
  exit?: number | null;
  /** As the access point recorded it; once folded, else the last fault of its agent. */
  fault?: FaultRecord;
  /** It only ran out of time: its last checkpoint is further than the one it started with. */
  movedOn?: boolean;
  /** The agent's phase while it works; before and after, the pool's; `queued` until either is known. */
  phase: Phase;
  pool?: PoolAccount;
  /** The same attempt by the pool's own log. */
  logged?: AttemptHistory;
  /** What the agent reported; undefined until it starts. */
  agent?: AgentState;
  /** When the agent's journal last grew, by the access point's file system, in milliseconds. */
  heardAt?: number;
}

/** An attempt by the pool's own log. It goes on changing while the log is read. */
export interface LoggedAttempt {
  kind: 'attempt-logged';
  job: string;
  attempt: number;
  logged: AttemptHistory;
}

/** All that a run's state is made of. */
export type Observation = Entry | LoggedAttempt;

/** What the pool did for an attempt, by the access point's clock. */
export interface PoolAccount {
  phase: Phase;
  since: string;
  host?: string;
  site?: string;
  /** Set while the pool has no connection to the machine. */
  disconnected?: Disconnected;
}

/** ISO 8601; at `until` the pool gives up the attempt. */
export interface Disconnected {
  since: string;
  until: string;
}

/** Whether the pool still has the job; true for one that it holds for good. */
export const isOpen = ({ endedAt, held }: Pick<JobState, 'endedAt' | 'held'>): boolean =>
  endedAt === undefined || held !== undefined;

/** Whether a job has ended, and has no valid result. */
export const endedBadly = ({ endedAt, outcome }: Pick<JobState, 'endedAt' | 'outcome'>): boolean =>
  endedAt !== undefined && outcome !== 'success';

/**
 * When a run ended; undefined while it has not. It ends when every job has ended, or when every canary has and one of
 * them failed: then the jobs that are kept back are never submitted. Pure.
 */
export function runEndedAt(jobs: readonly JobState[]): string | undefined {
  const ended = jobs.filter(({ status }) => status === 'ended');
  const left = jobs.filter(({ status }) => status !== 'ended');
  if (ended.length === 0 || !left.every(({ isKeptBack, atRung }) => isKeptBack && atRung === undefined))
    return undefined;
  if (left.length > 0 && ended.every(({ outcome }) => outcome === 'success')) return undefined;
  return ended.map(({ endedAt }) => endedAt ?? '').reduce((a, b) => (a > b ? a : b));
}
