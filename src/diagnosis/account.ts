import type { Resource } from '../eventlog/details.ts';
import type { Evidence } from './explanation.ts';

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
