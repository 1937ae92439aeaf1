import { firstFew } from '@updraft/base';
import { policyHoldCode, policySubcodes } from '@updraft/account/codes';
import { agentExits, usageFault } from '@updraft/account/fault';
import type { ResourceChange } from '../../pool.ts';
import { forgivenStarts, machineVersion } from '../submit/condor-policy.ts';
import { adString } from '../submit/submit-text.ts';
import { type CondorTools, type CondorVersion, isAtLeast } from './condor-tools.ts';

/** The first version that returns the files of a running job that is removed: on both sides. */
const returningSince: CondorVersion = '25.8.2';

/**
 * Removes jobs from the queue, by HTCondor's ids. Running ones return their files first, where their machines can.
 * `isAll`: remove their complete clusters, including jobs that are not materialized yet.
 */
export async function stopJobs(
  tools: CondorTools,
  names: ReadonlyMap<string, string>,
  isAll: boolean,
): Promise<void> {
  const clusters = clustersOf([...names.values()]);
  if (!isAll) for (const cluster of clusters) await assertQueued(tools, cluster, names);
  const ids = isAll ? clusters : [...names.values()];
  if (ids.length === 0) return;
  const returning = await returningJobs(tools, ids);
  if (returning.length > 0) await remove(tools, ['-transfer', ...returning]);
  await remove(tools, ids);
}

const remove = (tools: CondorTools, words: readonly string[]): Promise<unknown> =>
  tools.ask('condor_rm', ['-reason', 'updraft stop', ...words]).catch((error: unknown) => {
    // Jobs that have left the queue, or are leaving it, need no removal.
    if (!/couldn't find|not found|already marked/i.test(String(error))) throw error;
  });

/** Those that run where HTCondor can return their files; an older machine would go on with such a job. */
async function returningJobs(tools: CondorTools, ids: readonly string[]): Promise<string[]> {
  if (!isAtLeast(await tools.version(), returningSince)) return [];
  const there = `versionGE(split(${machineVersion}0)[1], ${adString(returningSince)})`;
  const text = await tools.ask('condor_q', [...ids, '-af:j', `JobStatus == 2 && ${there}`]);
  return text.split('\n').flatMap((line) => (line.endsWith(' true') ? [line.slice(0, -' true'.length)] : []));
}

const clustersOf = (ids: readonly string[]): string[] => [
  ...new Set(ids.map((id) => id.split('.')[0] ?? '')),
];

/** How many jobs of the clusters of these ids are in the queue, in whatever state. */
export async function countQueued(tools: CondorTools, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const text = await tools.ask('condor_q', [...clustersOf(ids), '-af', 'ClusterId']);
  return text.split('\n').filter((line) => line !== '').length;
}

/** Refuses single jobs that are not materialized yet: HTCondor cannot remove them. */
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
  throw usageFault(
    `HTCondor cannot remove single jobs before they are in the queue: ${shown}`,
    'stop them once they are queued, or stop the complete run',
    shown,
  );
}

const heldStatus = 5;
/** Idle, running, transferring output, suspended, waiting for common files. */
const activeStatuses = [1, 2, 6, 7, 9];
/** Jobs per `condor_qedit`: as many as fit into one argument. */
const maxJobsPerEdit = 2000;

interface QueuedJob {
  id: string;
  status: number;
  code: number;
  subcode: number;
  failures: number;
  forgiven: number;
  starts: number;
  /** -1 in a job of an earlier version, whose rules would hold it again at once. */
  forgivenStarts: number;
}

/** The reason in the event log for a release by `updraft retry`. */
export const retryReason = 'updraft retry';

/**
 * Releases held jobs, with the requested memory, and returns them, and those that someone else has released
 * meanwhile. A job that is still in the queue keeps what it saved at its evictions, which a resubmitted one would
 * lose. Not released are jobs that their own rules would hold again at once, and changes that need another work
 * order: time or disk.
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
  const queued = await readQueue(tools, [...asked.keys()]);
  const held = queued.filter(canBeReleased);
  if (held.length > 0) {
    await edit(tools, held, change);
    await tools.ask('condor_release', ['-reason', retryReason, ...held.map(({ id }) => id)]);
  }
  const active = queued.filter(({ status }) => activeStatuses.includes(status));
  return new Set([...held, ...active].map(({ id }) => asked.get(id) ?? ''));
}

const canBeReleased = ({ status, code, subcode, forgivenStarts: forgiven }: QueuedJob): boolean =>
  status === heldStatus &&
  !(
    code === policyHoldCode &&
    (subcode === policySubcodes.tooLate || (subcode < agentExits.from && forgiven < 0))
  );

async function readQueue(tools: CondorTools, ids: string[]): Promise<QueuedJob[]> {
  const attributes = [
    'JobStatus',
    'HoldReasonCode',
    'HoldReasonSubCode',
    'UpdraftFailures',
    'UpdraftForgiven',
    'NumShadowStarts',
    `${forgivenStarts} ?: -1`,
  ];
  const text = await tools.ask('condor_q', [...ids, '-af:j', ...attributes]);
  return text.split('\n').flatMap((line) => {
    const [id, ...figures] = line.trim().split(/\s+/);
    const [status = 0, code = 0, subcode = 0, failures = 0, forgiven = 0, starts = 0, startsBefore = -1] =
      figures.map((one) => Number(one) || 0);
    const job = { status, code, subcode, failures, forgiven, starts, forgivenStarts: startsBefore };
    return id === undefined || id === '' ? [] : [{ id, ...job }];
  });
}

/** Earlier failures and starts no longer count for the run's rules. Jobs with equal counts are edited together. */
async function edit(
  tools: CondorTools,
  held: readonly QueuedJob[],
  { memoryBytes }: ResourceChange,
): Promise<void> {
  const memory = memoryBytes === undefined ? [] : ['RequestMemory', String(Math.ceil(memoryBytes / 2 ** 20))];
  const counts = ({ failures, forgiven, starts }: QueuedJob): string => `${failures + forgiven} ${starts}`;
  for (const [counted, jobs] of Map.groupBy(held, counts)) {
    const [failed = '', started = ''] = counted.split(' ');
    for (let from = 0; from < jobs.length; from += maxJobsPerEdit) {
      const ids = jobs.slice(from, from + maxJobsPerEdit).map(({ id }) => adString(id));
      const constraint = `member(strcat(ClusterId, ".", ProcId), {${ids.join(', ')}})`;
      await tools.ask('condor_qedit', [
        '-constraint',
        constraint,
        'UpdraftForgiven',
        failed,
        forgivenStarts,
        started,
        ...memory,
      ]);
    }
  }
}
