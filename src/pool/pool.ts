import { type Clock, type Env, errorReason, readPlainFile, unlessGone } from '@updraft/base';
import type { JobHistory } from '@updraft/account/history';
import type { EntrySource } from '@updraft/account/journal';
import type { Policy } from '@updraft/account/recovery';
import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import { roundFolder, runFiles } from '@updraft/account/run-folder';
import type { PlanLimits, SlotFacts, Where } from '../check/facts.ts';
import type { LivePage } from '../job/live-page.ts';
import type { Plan } from '../job/plan.ts';
import type { PoolTraits } from '../job/pool-traits.ts';
import type { Resources } from '../job/spec.ts';

/** What a pool makes of a plan, to show before anything happens. */
export interface Rendering {
  /** How the jobs will run, in a sentence. */
  summary: string;
  /** Files for the run's folder that the pool reads, by path in it. */
  files: Record<string, string>;
  /** The file that is most useful to a person. */
  shown?: string;
  /** What this machine sends to the workers, in lines; omitted where they see its files. */
  sent?: string[];
}

/** Jobs of a run that are submitted together; round 1 is the first submission. */
export interface Round {
  number: number;
  jobs: readonly string[];
  /** How many attempts each job has had. */
  attemptsBefore: ReadonlyMap<string, number>;
}

/** Resources of a retry that override the plan's. */
export type ResourceChange = Partial<Pick<Resources, 'memoryBytes' | 'timeSeconds'> & { diskBytes: number }>;

/** Signals a process, or a group if the id is negative; does nothing if it is gone. */
export type Kill = (pid: number, signal: NodeJS.Signals) => void;

/** What a pool needs from the process that opens it. */
export interface PoolContext {
  /** How this program is started: executable and leading arguments. */
  self: readonly string[];
  env: Env;
  clock: Clock;
  pid: number;
  kill: Kill;
}

/**
 * Whether a run of the local pool has a supervisor: `running`; `elsewhere`, on another machine; `died` without
 * finishing; or `none`, because it ended or was never started.
 */
export type SupervisorState =
  | { state: 'none' }
  | {
      state: 'running' | 'elsewhere' | 'died';
      pid: number;
      host: string;
    };

/** What explains a run's jobs besides its journal and those of its attempts. */
export interface RunAccount {
  /** How the scheduler handles failures of a job, if by our rules, and the file with them. */
  rulesOf?: (job: string) => { policy: Policy; file: string } | undefined;
  /** The jobs' histories from the scheduler's own log, by job id, if it has one. */
  histories?: Map<string, JobHistory>;
  /** Replaces our file names in the scheduler's messages by the user's. */
  withUserNames?: (said: string) => string;
}

/** What is known about a pool's runs from their folders alone: asks no scheduler, starts nothing. */
export interface PoolRecords {
  readonly traits: PoolTraits;
  /** The scheduler's log in the run's folder, if `report` can read it. */
  readonly eventLog?: string;
  /** The supervisor's state, for pools with one. */
  supervisor?(runFolder: string): Promise<SupervisorState>;
  /** What the user's runs hold of this machine, for a pool that is this machine. */
  heldByRuns?(env: Env): Promise<{ run: string; cpus: number }[]>;
  /**
   * What the scheduler's or the jobs' own files add to the run's journal; undefined if the journal has everything. Read
   * after the journal, so it must also name its rounds (`round-started`): a job that had ended waits again.
   */
  source(runFolder: string): Promise<EntrySource | undefined>;
  /** For `why`. */
  account(runFolder: string): Promise<RunAccount>;
  /** Path of a journal that each job has besides those of its attempts. */
  jobJournal?(job: string): string;
  /** The policy by which the supervisor decides on the next attempt, for pools with one. */
  supervisedBy?(plan: Plan): Policy;
}

/** Where attempts run. First it renders, then it acts. */
export interface Pool extends PoolRecords {
  /** The pool's limits for a plan, if any; asks only this machine. */
  limits(plan: Plan): Promise<PlanLimits | undefined>;
  /** How the pool handles failures of each variant's jobs; asks only this machine. */
  policies(plan: Plan): Promise<Policy[]>;
  /** A sentence for `doctor`: what it is, and whether it answers; throws a Fault if jobs cannot run. */
  examine(cwd: string): Promise<string>;
  /** Which of its machines could run the plan's jobs; undefined if there is only this one. */
  slots(plan: Plan, where: Where): Promise<SlotFacts | undefined>;
  /** Throws a Fault with figures if a job could never run there. `run` is the run's name; without a round, all jobs. */
  render(plan: Plan, run: string, round?: Round): Promise<Rendering>;
  /** Ensures that the run in the folder is brought to its end; may be repeated. */
  submit(runFolder: string): Promise<void>;
  /** Ends these jobs, after the journal has the stop request. */
  stop(runFolder: string, jobs: readonly string[]): Promise<void>;
  /** How many of the run's jobs its scheduler still has in the queue; omitted where there is no queue. */
  queued?(runFolder: string): Promise<number>;
  /** Releases held jobs, with these changes; returns those not in the pool, which need a new round. */
  release(runFolder: string, jobs: readonly string[], change: ResourceChange): Promise<string[]>;
  /** The end of a running attempt's output; undefined if the run's folder has it already. */
  output(
    runFolder: string,
    job: string,
    stream: 'out' | 'err',
    signal: AbortSignal,
  ): Promise<LivePage | undefined>;
  /** Takes a job's slot away, as its owner might. */
  evict(runFolder: string, job: string): Promise<void>;
  /** Writes into the run's folder what only the scheduler knows; omitted if the folder has everything. */
  refresh?(runFolder: string): Promise<void>;
  /** Opens a shell on one of its machines, in the environment of a job of the plan; omitted if impossible. */
  shell?(plan: Plan, say: (line: string) => void): Promise<void>;
}

/** A kind of pool: how to read its runs, and how to open it. */
export interface PoolKind extends PoolRecords {
  open(start: PoolContext): Pool;
}

/** The original plan of a run. */
export async function readPlan(runFolder: string): Promise<Plan> {
  const file = path.join(runFolder, runFiles.plan);
  try {
    return JSON.parse(await readPlainFile(file)) as Plan;
  } catch (error) {
    throw new Fault('file-invalid', `cannot read the plan ${file}: ${errorReason(error)}`, {
      fix: 'start a new run with `updraft submit --new`',
      about: file,
      cause: error,
    });
  }
}

/** The plan of a round: what a retry changed applies to all later rounds. */
export async function roundPlan(runFolder: string, round: number): Promise<Plan> {
  for (let number = round; number > 1; number--) {
    const file = path.join(roundFolder(runFolder, number), runFiles.plan);
    const text = await unlessGone(readPlainFile(file));
    if (text !== undefined) return JSON.parse(text) as Plan;
  }
  return await readPlan(runFolder);
}
