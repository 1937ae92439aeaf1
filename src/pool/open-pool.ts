import type { Env } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import type { PoolName } from '../job/spec.ts';
import { condorKind } from './condor/condor-pool.ts';
import { localKind } from './local/local-pool.ts';
import { storeSecrets } from './stored-secrets.ts';
import { type Pool, type PoolKind, type PoolContext, readPlan } from './pool.ts';
import { slurmKind } from './slurm/slurm-pool.ts';

/** All pools: a pool name without an entry does not compile. */
export const poolKinds: Record<PoolName, PoolKind> = {
  local: localKind,
  condor: condorKind,
  slurm: slurmKind,
};

/** The pool of this name; undefined if only another version of Updraft has it. */
export const poolKind = (name: string): PoolKind | undefined =>
  Object.hasOwn(poolKinds, name) ? poolKinds[name as PoolName] : undefined;

/** Opens the pool that a plan or a run's journal names. */
export function openPool(name: string, context: PoolContext): Pool {
  const kind = poolKind(name);
  if (kind !== undefined) return withSecrets(kind.open(context), context.env);
  // The entry that names the pool is of a version that cannot be read here.
  const why =
    name === ''
      ? 'a newer version of Updraft made this run'
      : `this version of Updraft has no pool "${name}"`;
  throw new Fault('pool-unreachable', why, {
    fix: `use the version that made the run, or one of these pools: ${Object.keys(poolKinds).join(', ')}`,
    about: name,
  });
}

/** Stores the training's secrets before each submission. */
const withSecrets = (pool: Pool, env: Env): Pool => ({
  ...pool,
  async submit(runFolder) {
    await storeSecrets(runFolder, await readPlan(runFolder), env);
    await pool.submit(runFolder);
  },
});
