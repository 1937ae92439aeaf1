import type { PoolCustoms } from '../check/pool-customs.ts';
import type { LivePage } from '../job/live-page.ts';
import type { Plan } from '../job/plan.ts';
import type { Resources } from '../job/spec.ts';
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

/** Where attempts run. First it renders, then it acts. */
export interface Pool {
  /** Its limits and customs for a plan, where it has any; asks nobody outside this machine. */
  customs(plan: Plan): Promise<PoolCustoms | undefined>;
  /** What it does about failures of a plan's jobs; asks nobody outside this machine. */
  policy(plan: Plan): Promise<Policy>;
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
  /** Writes down what only the scheduler knows of the run, now and then; nothing where the run's folder tells all. */
  look(runFolder: string): Promise<void>;
}
