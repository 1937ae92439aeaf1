import type { Resource, Termination } from '../eventlog/details.ts';
import type { Evidence } from './explanation.ts';

/** What an attempt was last seen doing. */
export type Doing =
  'queueing' | 'fetching' | 'starting' | 'executing' | 'returning' | 'suspended' | 'cut off';

/** HTCondor's account of a hold or of an eviction. */
export interface Account {
  code: number | undefined;
  subcode: number | undefined;
  reason: string;
  evidence: Evidence;
  /** What was used and asked for, where the log has the table. */
  resources: readonly Resource[];
  /** The event that has the table, where it is another one. */
  table?: Evidence;
}

/** How an attempt ended. `silent`: another began and no event tells what became of this one. */
export type AttemptEnd =
  | {
      how: 'exited';
      termination: Termination | undefined;
      evidence: Evidence;
      resources: readonly Resource[];
    }
  | ({ how: 'vacated' | 'exception' } & Account)
  | { how: 'silent'; evidence: Evidence };

/** One try at a job on one slot. */
export interface StoryAttempt {
  /** When, in milliseconds since the epoch, as far as the log tells. */
  from: number | undefined;
  to: number | undefined;
  began: Evidence;
  doing: Doing;
  executed: boolean;
  slot: string;
  site: string;
  /** The most memory it was seen to use, in MB. */
  memoryMb: number;
  /** What the execution point complained of last. */
  complaint?: { text: string; evidence: Evidence };
  /** How often its output, or its state, was brought back while it ran. */
  saves: number;
  /** How often the connection was lost and found again. */
  reconnects: number;
  end?: AttemptEnd;
}

/** The life of one job as its events tell it. */
export interface JobStory {
  /** `cluster.proc` */
  id: string;
  /** The first and the last time the log tells of it, in milliseconds since the epoch. */
  from: number | undefined;
  to: number | undefined;
  /** Its first event, and its last. */
  first: Evidence;
  last: Evidence;
  attempts: StoryAttempt[];
  holds: Account[];
  releases: { reason: string; evidence: Evidence }[];
  /** Whether it is held now. */
  isHeld: boolean;
  /** Its end by itself, or by removal. */
  ended?:
    | {
        by: 'itself';
        termination: Termination | undefined;
        evidence: Evidence;
        resources: readonly Resource[];
      }
    | { by: 'removal'; reason: string; evidence: Evidence };
}
