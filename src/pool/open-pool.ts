import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';
import type { PoolName } from '../job/spec.ts';
import { condorKind } from './condor/condor-pool.ts';
import { localKind } from './local/local-pool.ts';
import { storeSecrets } from './stored-secrets.ts';
import type { Pool, PoolKind, PoolContext } from './pool.ts';
import { readPlan } from './read-plan.ts';
import { slurmKind } from './slurm/slurm-pool.ts';

/** Every pool there is: a name without one does not compile. */
export const poolKinds: Record<PoolName, PoolKind> = {
  local: localKind,
  condor: condorKind,
  slurm: slurmKind,
};

/** The kind of pool of that name; undefined for one of another version of Updraft. */
export const poolKind = (name: string): PoolKind | undefined =>
  Object.hasOwn(poolKinds, name) ? poolKinds[name as PoolName] : undefined;

/** The pool of that name, as a plan or a run's journal has it. */
export function openPool(name: string, context: PoolContext): Pool {
  const kind = poolKind(name);
  if (kind !== undefined) return withSecrets(kind.open(context), context.env);
  throw new Fault('pool-unreachable', `this version of Updraft knows no pool "${name}"`, {
    fix: `use the version that made the run, or one of these pools: ${Object.keys(poolKinds).join(', ')}`,
    about: name,
  });
}

/** Whatever a pool is handed, the secrets of its trainings are there before. */
const withSecrets = (pool: Pool, env: Env): Pool => ({
  ...pool,
  async submit(runFolder) {
    await storeSecrets(runFolder, await readPlan(runFolder), env);
    await pool.submit(runFolder);
  },
});
