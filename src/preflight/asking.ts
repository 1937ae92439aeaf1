import type { PoolContext } from '../pool/pool.ts';

/** What asking this machine, its servers and its pools needs of the process. */
export interface Asking extends PoolContext {
  cwd: string;
  version: string;
  uid: number;
  signal: AbortSignal;
}
