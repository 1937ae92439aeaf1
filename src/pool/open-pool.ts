import { Fault } from '../fault/fault.ts';
import type { PoolName } from '../job/spec.ts';
import { localPool } from './local/local-pool.ts';
import type { SupervisorStart } from './local/start-supervisor.ts';
import type { Pool } from './pool.ts';

/** The pool of that name. */
export function openPool(name: PoolName, start: SupervisorStart): Pool {
  if (name === 'local') return localPool(start);
  throw new Fault('pool-unreachable', `the pool "${name}" cannot be used yet`, {
    fix: 'set pool = "local" in [run] to use this machine',
    about: name,
  });
}
