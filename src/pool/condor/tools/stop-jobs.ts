import { firstFew } from '../../../base/printable.ts';
import { Fault } from '../../../fault/fault.ts';
import type { CondorTools } from './condor-tools.ts';

/**
 * Removes jobs from the queue, by HTCondor's names of them. `isAll`: nothing of their clusters is wanted any more, also
 * what HTCondor has not put into the queue yet.
 */
export async function stopJobs(
  tools: CondorTools,
  names: ReadonlyMap<string, string>,
  isAll: boolean,
): Promise<void> {
  const clusters = [...new Set([...names.values()].map((id) => id.split('.')[0] ?? ''))];
  if (!isAll) for (const cluster of clusters) await assertQueued(tools, cluster, names);
  const ids = isAll ? clusters : [...names.values()];
  if (ids.length === 0) return;
  await tools.ask('condor_rm', ['-reason', 'updraft stop', ...ids]).catch((error: unknown) => {
    // Those that have left the queue by themselves need no removing.
    if (!/couldn't find|not found/i.test(String(error))) throw error;
  });
}

/** Of a cluster whose jobs enter the queue as room comes, single ones cannot be left out before they do. */
async function assertQueued(
  tools: CondorTools,
  cluster: string,
  names: ReadonlyMap<string, string>,
): Promise<void> {
  const next = Number.parseInt(
    await tools.ask('condor_q', [cluster, '-limit', '1', '-af', 'JobMaterializeNextProcId']),
    10,
  );
  if (Number.isNaN(next)) return;
  const early = [...names].filter(([, id]) => {
    const [of, proc] = id.split('.');
    return of === cluster && Number(proc) >= next;
  });
  if (early.length === 0) return;
  const jobs = early.map(([job]) => job);
  const shown = firstFew(jobs, 5);
  throw new Fault(
    'usage',
    `${jobs.length} of these jobs are not in the queue yet (${shown}), and HTCondor cannot leave single ones out`,
    { fix: 'stop them once they are queued, or stop the whole run', about: shown },
  );
}
