import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import type { PlanLimits, SlotFacts, Where } from '../check/facts.ts';
import type { JobHistory } from '../history/history.ts';
import type { LivePage } from '../job/live-page.ts';
import type { Plan } from '../job/plan.ts';
import type { PoolTraits } from '../job/pool-traits.ts';
import type { Resources } from '../job/spec.ts';
import type { EntrySource } from '../journal/load-run.ts';
import type { Policy } from '../recovery/policy.ts';

/** What a pool makes of a plan, to be shown before anything happens. */
export interface Rendering {
  /** In a sentence, how the jobs will run. */
  summary: string;
  /** Files of the run's folder that the pool reads, by path in it. */
  files: Record<string, string>;
  /** The one of them that a person will want to see. */
  shown?: string;
}

/** Jobs of a run that are handed to the pool together; round 1 is the run's beginning. */
export interface Round {
  number: number;
  jobs: readonly string[];
  /** How many attempts each job has had. */
  attemptsBefore: ReadonlyMap<string, number>;
}

/** What a retry asks for instead of what the plan says. */
export type ResourceChange = Partial<Pick<Resources, 'memoryBytes' | 'timeSeconds'> & { diskBytes: number }>;

/** Sends a signal to a process, or to a group when the id is negative; one that is gone already is no error. */
export type Kill = (pid: number, signal: NodeJS.Signals) => void;

/** What a pool needs of the process that opens it. */
export interface PoolContext {
  /** How this program is started: executable and leading arguments. */
  self: readonly string[];
  env: Env;
  clock: Clock;
  pid: number;
  kill: Kill;
}

/**
 * Whether somebody brings a run of the local pool to its end: `running`; `elsewhere`, on a machine we cannot look
 * into; `died` without finishing; or `none`, because it ended or was never started.
 */
export type SupervisorState =
  { state: 'running' | 'elsewhere' | 'died'; pid: number; host: string } | { state: 'none' };

/** What explains the jobs of a run beside its journal and those of its attempts. */
export interface RunAccount {
  /** What the scheduler does about failures, where that is ours, and the file in which it is written. */
  rules?: { policy: Policy; file: string } | undefined;
  /** The jobs as the scheduler's own log has them, by their ids, where there is one that explains them. */
  histories?: Map<string, JobHistory>;
  /** Puts the user's names of files into what the scheduler says. */
  withUserNames?: (said: string) => string;
}

/** What is known of a pool's runs from their folders alone: no scheduler is asked, nothing is started. */
export interface PoolRecords {
  readonly traits: PoolTraits;
  /** Beside plans and journals, what has to be read of a run to know how it stands; as `find -path` takes it. */
  readonly accountFiles: readonly string[];
  /** The scheduler's log of a run, by its path in the run's folder, where it is one that `report` reads. */
  readonly eventLog?: string;
  /** Who brings a run to its end: of pools that supervise. */
  supervisor?(runFolder: string): Promise<SupervisorState>;
  /**
   * What the scheduler's or the jobs' own files add to the run's journal; undefined where that has everything. It is read
   * after that journal, so it names each round it took as well (`round-started`): a job that had ended waits anew.
   */
  source(runFolder: string): Promise<EntrySource | undefined>;
  /** For `why`. */
  account(runFolder: string): Promise<RunAccount>;
  /** A journal that each job has beside those of its attempts, by its path in the run's folder. */
  jobJournal?(job: string): string;
  /** By which the supervisor of a run decides on the next attempt: of pools that supervise. */
  supervisedBy?(plan: Plan): Policy;
}

/** Where attempts run. First it renders, then it acts. */
export interface Pool extends PoolRecords {
  /** Its limits for a plan, where it has any; asks nobody outside this machine. */
  limits(plan: Plan): Promise<PlanLimits | undefined>;
  /** What it does about failures of a plan's jobs; asks nobody outside this machine. */
  policy(plan: Plan): Promise<Policy>;
  /** What it is and whether it answers, in a sentence for `doctor`; throws a Fault where jobs cannot be run. */
  examine(cwd: string): Promise<string>;
  /** Which of its machines could run the plan's jobs; undefined where there is only this one. */
  slots(plan: Plan, where: Where): Promise<SlotFacts | undefined>;
  /** Throws a Fault with figures when a job could never run there. `run` is the run's name; all its jobs unless a round is named. */
  render(plan: Plan, run: string, round?: Round): Promise<Rendering>;
  /** Sees to it that the run in the folder is brought to its end; harmless when that is under way already. */
  submit(runFolder: string): Promise<void>;
  /** Ends these jobs, once the journal says that they shall stop. */
  stop(runFolder: string, jobs: readonly string[]): Promise<void>;
  /** Has jobs that the pool keeps back go on, changed as said; gives those it does not have, which need a new round. */
  release(runFolder: string, jobs: readonly string[], change: ResourceChange): Promise<string[]>;
  /** The end of what the running attempt of a job prints; undefined where it is in the run's folder as it is printed. */
  output(
    runFolder: string,
    job: string,
    stream: 'out' | 'err',
    signal: AbortSignal,
  ): Promise<LivePage | undefined>;
  /** Takes a job's slot away, as its owner might. */
  evict(runFolder: string, job: string): Promise<void>;
  /** Writes into the run's folder what only the scheduler knows; left out where the folder has everything anyway. */
  refresh?(runFolder: string): Promise<void>;
  /** Opens a shell on one of its machines, as a job of the plan would get it; left out where there are no such jobs. */
  shell?(plan: Plan, say: (line: string) => void): Promise<void>;
}

/** A kind of pool: how its runs are read, and how it is opened. */
export interface PoolKind extends PoolRecords {
  open(start: PoolContext): Pool;
}
