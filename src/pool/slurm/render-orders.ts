import { orderEnvironment, type Plan } from '../../job/plan.ts';
import { runFiles } from '../../job/layout.ts';
import { orderedRecovery } from '../../recovery/policy.ts';
import type { Round } from '../pool.ts';
import { roundFiles } from './slurm-files.ts';
import { slurmPolicy } from './slurm-policy.ts';

/** The agent's orders, by path in the run's folder. Places are left out: the node knows them. */
export function renderOrders(plan: Plan, run: string, round?: Round): Record<string, string> {
  const { data, environment, filesIn, spec, isRehearsal } = plan;
  const meant = round === undefined ? undefined : new Set(round.jobs);
  const same = {
    version: 1,
    run,
    data,
    resources: spec.resources,
    isRehearsal,
    environment: orderEnvironment(spec.environment, environment?.pack, (pack) => pack),
    recovery: orderedRecovery(slurmPolicy(plan)),
    filesFrom: filesIn ?? runFiles.files,
  };
  const { orders } = roundFiles(round?.number ?? 1);
  const meantJobs = plan.jobs.filter(({ id }) => meant?.has(id) ?? true);
  return Object.fromEntries(
    meantJobs.map((job) => [`${orders}/${job.id}.json`, `${JSON.stringify({ ...same, job })}\n`]),
  );
}
