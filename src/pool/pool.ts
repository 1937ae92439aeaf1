import type { Plan } from '../job/plan.ts';

/** What a pool makes of a plan, to be shown before anything happens. */
export interface Rendering {
  /** In a sentence, how the jobs will run. */
  summary: string;
  /** Files of the run's folder that the pool reads, by path in it. */
  files: Record<string, string>;
  /** The one of them that a person will want to see. */
  shown?: string;
}

/** A rule of a pool that a plan breaks (`error`: it would be refused or held) or strains (`warning`). */
export interface Finding {
  level: 'error' | 'warning';
  /** Name of the rule, for programs. */
  rule: string;
  message: string;
  fix: string;
}

/** Where attempts run. First it renders, then it acts. */
export interface Pool {
  /** What its limits and customs say against a plan; asks nobody outside this machine. */
  check(plan: Plan): Promise<Finding[]>;
  /** Throws a Fault with figures when a job could never run there. `run` is the name the run will have. */
  render(plan: Plan, run: string): Promise<Rendering>;
  /** Sees to it that the run in the folder is brought to its end; harmless when that is under way already. */
  submit(runFolder: string): Promise<void>;
  /** Ends these jobs, once the journal says that they shall stop. */
  stop(runFolder: string, jobs: readonly string[]): Promise<void>;
}
