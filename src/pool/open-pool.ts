import { Fault } from '../fault/fault.ts';
import type { PoolName } from '../job/spec.ts';
import { condorPool, type CondorStart } from './condor/condor-pool.ts';
import type { Kill } from './local/leftovers.ts';
import { localPool } from './local/local-pool.ts';
import type { Pool } from './pool.ts';

/** The pool of that name. */
export function openPool(name: PoolName, start: CondorStart & { kill: Kill }): Pool {
  if (name === 'local') return localPool(start);
  if (name === 'condor') return condorPool(start);
  throw new Fault('pool-unreachable', `the pool "${name}" cannot be used yet`, {
    fix: 'set pool = "local" in [run] to use this machine',
    about: name,
  });
}
