import path from 'node:path';
import type { Job, Order } from '../../job/job.ts';
import { attemptFolder, resultsFolder, runFiles } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { orderEnvironment } from '../../job/planned-environment.ts';

/** What the agent of one attempt is told to do. */
export function renderOrder(
  runFolder: string,
  { data, disk, environment, filesIn, spec }: Plan,
  job: Job,
  attempt: number,
  scratch: string,
): Order {
  return {
    version: 1,
    run: path.basename(runFolder),
    job,
    attempt,
    data,
    environment: orderEnvironment(spec.environment, environment?.pack, (pack) => pack),
    resources: { ...spec.resources, diskBytes: disk.bytes },
    filesFrom: path.join(runFolder, filesIn ?? runFiles.files),
    scratchParent: scratch,
    resultsTo: resultsFolder(runFolder, job.id),
    attemptFolder: attemptFolder(runFolder, job.id, attempt),
    notesFolder: path.join(runFolder, runFiles.notes),
  };
}
