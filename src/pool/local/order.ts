import path from 'node:path';
import { defined } from '../../base/defined.ts';
import type { Job, WorkOrder, OrderedWorkspace } from '../../job/job.ts';
import { attemptFolder, resultsFolder, runFiles } from '../../job/layout.ts';
import { orderEnvironment, type Plan } from '../../job/plan.ts';
import { attemptRecovery, type Policy, policyOf } from '../../recovery/policy.ts';

/** What the agent of one attempt is told to do. */
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
    // There is no other machine to which a slow one could be left.
    job: { ...job, train: { ...job.train, slowLimit: 0 } },
    attempt,
    data,
    environment: {
      ...orderEnvironment(spec.environment, environment?.pack, (pack) => pack),
      ...defined({ workspace: workspaceOf(plan), fallback: environment?.fallback?.why }),
    },
    // Nobody promised the disk here: only what the user asked for is held against the machine.
    resources: { ...spec.resources, memoryBytes },
    recovery: attemptRecovery(localPolicy(plan)),
    filesFrom: path.join(runFolder, filesIn ?? runFiles.files),
    scratchParent: scratch,
    resultsTo: resultsFolder(runFolder, job.id),
    attemptFolder: attemptFolder(runFolder, job.id, attempt),
    ...(plan.isRehearsal ? { isRehearsal: true } : {}),
    ...defined({ caches: spec.run.caches, avoidCaches: spec.run.avoidCaches }),
    notesFolder: path.join(runFolder, runFiles.notes),
  };
}

function workspaceOf({ folder, spec, environment }: Plan): OrderedWorkspace | undefined {
  const { pixi } = spec.environment;
  if (pixi === undefined || environment?.delivery !== 'install') return undefined;
  return { manifest: path.join(folder, pixi.manifest), environment: pixi.environment };
}

/** There is one machine: nothing can be avoided, and nobody limits disk. */
const backoff = { initialBackoff: 5, maxBackoff: 300, immediateRetries: 0, forgetAfter: 0 };

export const localPolicy = ({ spec, disk }: Plan): Policy =>
  policyOf(spec, { diskBytes: disk.bytes, backoff });
