import { given } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { jobId, runFiles } from '@updraft/account/run-folder';
import { orderEnvironment, type Plan } from '../../job/plan.ts';
import { variantsOf } from '../../job/variants.ts';
import { attemptRecovery, type Policy, policyOf } from '@updraft/account/recovery';
import type { Round } from '../pool.ts';
import { arrayName, slurmRoundFiles, slurmFiles } from './slurm-files.ts';
import { type TaskImage, taskScript, warningSeconds } from './task-script.ts';
import { arrayIndices } from './tasks.ts';

export interface SbatchInput {
  plan: Plan;
  /** Name of the run, by which its jobs are found in the queue. */
  run: string;
  image?: TaskImage | undefined;
  /** File with the training's secrets, if it has any. */
  secrets?: string | undefined;
  /** Whether the run's folder has certificate authorities of the user. */
  hasAuthority?: boolean;
  /** The jobs to submit now; all by default. */
  round?: Round | undefined;
}

/** What sbatch gets for a round of a run, from the run's folder: the request, and the script of each job. Pure. */
export function renderSbatch({ plan, run, image, secrets, hasAuthority, round }: SbatchInput): string {
  assertOneRequest(plan);
  const number = round?.number ?? 1;
  const ids = round?.jobs ?? plan.jobs.map(({ id }) => id);
  return [
    '#!/bin/sh',
    `# Jobs: ${ids.length}, of the run ${run}, for Slurm. Made by Updraft; submit from the run's folder.`,
    ...[
      `--job-name=${arrayName(run, number)}`,
      `--array=${arrayIndices(ids.map(Number))}`,
      // The job's id, as in its folder's name.
      `--output=${slurmFiles.said}/%${jobId(0).length}a.log`,
      '--open-mode=append',
      // Slurm handles lost nodes and preemptions, the script everything else.
      '--requeue',
      `--signal=B:USR1@${warningSeconds}`,
      ...requests(plan),
    ].map((option) => `#SBATCH ${option}`),
    '',
    ...taskScript({
      round: number,
      policy: slurmPolicy(plan),
      image,
      secrets,
      hasAuthority,
      hasNodes: (plan.spec.resources.nodes ?? 1) > 1,
    }),
    '',
  ].join('\n');
}

/** Throws if jobs differ in what Slurm takes once for an array, and its script for all tasks. */
function assertOneRequest(plan: Plan): void {
  const { file, variedBy = [] } = plan;
  const asked = variantsOf(plan).map((one) => JSON.stringify([requests(one), one.spec.environment]));
  if (new Set(asked).size === 1) return;
  const what = 'in resources, software or requirements, and a Slurm array has one request for all its jobs';
  throw new Fault('file-invalid', `${file}: jobs differ by ${variedBy.join(', ')} ${what}`, {
    fix: 'make a run for each value there (updraft submit --set KEY=VALUE); data and commands may differ',
    about: file,
  });
}

function requests({ spec }: Plan): string[] {
  const { nodes = 1, cpus, gpus, memoryBytes, timeSeconds } = spec.resources;
  const { project, partition, qos, requirements } = spec.run;
  return given(
    `--nodes=${nodes}`,
    `--ntasks=${nodes}`,
    nodes > 1 && '--ntasks-per-node=1',
    `--cpus-per-task=${cpus}`,
    `--mem=${Math.ceil(memoryBytes / 2 ** 20)}M`,
    gpus > 0 && `--gres=gpu:${gpus}`,
    timeSeconds !== undefined && `--time=${Math.ceil(timeSeconds / 60)}`,
    partition !== undefined && `--partition=${partition}`,
    project !== undefined && `--account=${project}`,
    qos !== undefined && `--qos=${qos}`,
    requirements !== undefined && `--constraint=${quoted(requirements)}`,
    ...Object.entries(spec.pool?.submit ?? {}).flatMap(([name, value]) =>
      typeof value === 'boolean' ? (value ? [`--${name}`] : []) : [`--${name}=${quoted(String(value))}`],
    ),
  );
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

/** The work orders, by path in the run's folder. They leave out the places, which the node knows. */
export function renderSlurmOrders(plan: Plan, run: string, round?: Round): Record<string, string> {
  const orders = variantsOf(plan).map((one) => variantOrders(one, run, round));
  return Object.assign({}, ...orders) as Record<string, string>;
}

function variantOrders(plan: Plan, run: string, round?: Round): Record<string, string> {
  const { data, environment, filesIn, spec, isRehearsal, meanLifeSeconds } = plan;
  const included = round && new Set(round.jobs);
  const same = {
    version: 1,
    run,
    data,
    resources: spec.resources,
    isRehearsal,
    meanLifeSeconds,
    environment: orderEnvironment(spec.environment, environment?.pack, (pack) => pack),
    recovery: attemptRecovery(slurmPolicy(plan)),
    filesFrom: filesIn ?? runFiles.files,
    caches: spec.run.caches,
    avoidCaches: spec.run.avoidCaches,
    confirmed: plan.confirmed,
  };
  const { orders } = slurmRoundFiles(round?.number ?? 1);
  const jobs = plan.jobs.filter(({ id }) => included?.has(id) ?? true);
  return Object.fromEntries(
    jobs.map((job) => [`${orders}/${job.id}.json`, `${JSON.stringify({ ...same, job })}\n`]),
  );
}

/** Another node is tried at once; trouble that is the same everywhere gets time, as on HTCondor. */
const backoff = { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 0 };

/** A partition has machines but no sites: avoiding a site means avoiding the machine. */
export function slurmPolicy({ spec, disk }: Plan): Policy {
  const policy = policyOf(spec, { diskBytes: disk.bytes, backoff });
  return {
    ...policy,
    avoid: policy.avoid === 'site' ? 'machine' : policy.avoid,
    // Disk cannot be requested from Slurm nodes.
    disk: { ...policy.disk, most: policy.disk.asked },
  };
}
