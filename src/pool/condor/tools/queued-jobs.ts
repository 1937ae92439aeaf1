import { firstFew } from '../../../base/printable.ts';
import { policyHoldCode } from '../../../codes/remedies.ts';
import { Fault } from '../../../fault/fault.ts';
import { agentExits } from '../../../fault/kinds.ts';
import type { ResourceChange } from '../../pool.ts';
import { adString } from '../submit/submit-text.ts';
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

const heldStatus = 5;
/** Jobs that one edit names: as many as fit into one argument of a command. */
const maxJobsPerEdit = 2000;

/** What the queue tells of a job. */
interface QueuedJob {
  id: string;
  status: number;
  code: number;
  subcode: number;
  failures: number;
  forgiven: number;
}

/** The reason that the log gets to tell of a release by `updraft retry`. */
export const retryReason = 'updraft retry';

/**
 * Releases those jobs that HTCondor holds, with the memory that is asked for, and gives them. A job that is still in
 * the queue keeps what it saved at its evictions, which one that is submitted anew would not find again. Not released
 * is what its own rules would hold again at once, and what needs another order: time or disk.
 */
export async function releaseHeld(
  tools: CondorTools,
  jobs: readonly string[],
  names: ReadonlyMap<string, string>,
  change: ResourceChange,
): Promise<Set<string>> {
  if (change.diskBytes !== undefined || change.timeSeconds !== undefined) return new Set();
  const asked = new Map(jobs.flatMap((job) => [[names.get(job) ?? '', job] as const]));
  asked.delete('');
  if (asked.size === 0) return new Set();
  const held = (await readQueue(tools, [...asked.keys()])).filter(canBeReleased);
  if (held.length === 0) return new Set();
  await edit(tools, held, change);
  await tools.ask('condor_release', ['-reason', retryReason, ...held.map(({ id }) => id)]);
  return new Set(held.map(({ id }) => asked.get(id) ?? ''));
}

const canBeReleased = ({ status, code, subcode }: QueuedJob): boolean =>
  status === heldStatus && !(code === policyHoldCode && subcode < agentExits.from);

async function readQueue(tools: CondorTools, ids: string[]): Promise<QueuedJob[]> {
  const attributes = [
    'JobStatus',
    'HoldReasonCode',
    'HoldReasonSubCode',
    'UpdraftFailures',
    'UpdraftForgiven',
  ];
  const text = await tools.ask('condor_q', [...ids, '-af:j', ...attributes]);
  return text.split('\n').flatMap((line) => {
    const [id, ...figures] = line.trim().split(/\s+/);
    const [status = 0, code = 0, subcode = 0, failures = 0, forgiven = 0] = figures.map(
      (one) => Number(one) || 0,
    );
    return id === undefined || id === '' ? [] : [{ id, status, code, subcode, failures, forgiven }];
  });
}

/** What failed so far no longer counts for the rules of the run. Those with as many failures are changed together. */
async function edit(
  tools: CondorTools,
  held: readonly QueuedJob[],
  { memoryBytes }: ResourceChange,
): Promise<void> {
  const memory = memoryBytes === undefined ? [] : ['RequestMemory', String(Math.ceil(memoryBytes / 2 ** 20))];
  for (const [forgiven, jobs] of Map.groupBy(held, (job) => job.failures + job.forgiven))
    for (let from = 0; from < jobs.length; from += maxJobsPerEdit) {
      const ids = jobs.slice(from, from + maxJobsPerEdit).map(({ id }) => adString(id));
      const constraint = `member(strcat(ClusterId, ".", ProcId), {${ids.join(', ')}})`;
      await tools.ask('condor_qedit', [
        '-constraint',
        constraint,
        'UpdraftForgiven',
        String(forgiven),
        ...memory,
      ]);
    }
}
