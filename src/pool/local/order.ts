import path from 'node:path';
import { defined } from '@updraft/base';
import type { Job, WorkOrder, OrderedWorkspace } from '../../job/job.ts';
import { attemptFolder, resultsFolder, runFiles } from '@updraft/account/run-folder';
import { orderEnvironment, type Plan } from '../../job/plan.ts';
import { attemptRecovery, type Policy, policyOf } from '@updraft/account/recovery';

/** The work order of one attempt. */
export function renderOrder(
  runFolder: string,
  plan: Plan,
  job: Job,
  attempt: number,
  scratch: string,
  memoryBytes = plan.spec.resources.memoryBytes,
): WorkOrder {
  const { data, environment, filesIn, spec } = plan;
  return {
    version: 1,
    run: path.basename(runFolder),
    // A slow machine cannot be left for another: there is none.
    job: { ...job, train: { ...job.train, slowLimit: 0 } },
    attempt,
    data,
    environment: {
      ...orderEnvironment(spec.environment, environment?.pack, (pack) => pack),
      ...defined({ workspace: workspaceOf(plan), fallback: environment?.fallback?.why }),
    },
    // Disk is not reserved here: the machine must only have what the user requested.
    resources: { ...spec.resources, memoryBytes },
    ...(plan.isMemorySet && { limitsMemory: true }),
    recovery: attemptRecovery(localPolicy(plan)),
    filesFrom: path.join(runFolder, filesIn ?? runFiles.files),
    scratchParent: scratch,
    resultsTo: resultsFolder(runFolder, job.id),
    attemptFolder: attemptFolder(runFolder, job.id, attempt),
    ...(plan.isRehearsal ? { isRehearsal: true } : {}),
    ...defined({
      caches: spec.run.caches,
      avoidCaches: spec.run.avoidCaches,
      confirmed: plan.confirmed,
      meanLifeSeconds: plan.meanLifeSeconds,
    }),
    notesFolder: path.join(runFolder, runFiles.notes),
  };
}

function workspaceOf({ folder, spec, environment }: Plan): OrderedWorkspace | undefined {
  const { pixi } = spec.environment;
  if (pixi === undefined || environment?.delivery !== 'install') return undefined;
  return { manifest: path.join(folder, pixi.manifest), environment: pixi.environment };
}

/** With one machine, nothing can be avoided and disk is not limited. */
const backoff = { initialBackoff: 5, maxBackoff: 300, immediateRetries: 0, forgetAfter: 0 };

/** The supervisor renews a login's token between two attempts; elsewhere, a job also waits for others to renew it. */
const retriedOnce = ['token-expired'] as const;

export const localPolicy = ({ spec, disk }: Plan): Policy => ({
  ...policyOf(spec, { diskBytes: disk.bytes, backoff }),
  retriedOnce,
});
