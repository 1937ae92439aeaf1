import type { Fault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';

/** One thing the machine was asked before any data moved, and what it said. */
export interface Finding {
  name: string;
  ok: boolean;
  said: string;
  /** What the attempt ends of, where it is something else than a machine that lacks what the job needs. */
  fault?: Fault;
  /** What to do where it is not ok. */
  fix?: string;
}

/** Asks the machine something; throws only when the attempt must end. */
export type Check = (attempt: Attempt) => Promise<Finding[]>;
