import type { PoolName } from '../job/spec.ts';
import { condorPool, type CondorStart } from './condor/condor-pool.ts';
import type { Kill } from './local/leftovers.ts';
import { localPool } from './local/local-pool.ts';
import type { Pool } from './pool.ts';
import { slurmPool } from './slurm/slurm-pool.ts';

/** The pool of that name. */
export function openPool(name: PoolName, start: CondorStart & { kill: Kill }): Pool {
  if (name === 'local') return localPool(start);
  return name === 'condor' ? condorPool(start) : slurmPool(start);
}
