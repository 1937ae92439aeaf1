import { Fault } from '../../fault/fault.ts';
import type { Plan } from '../../job/plan.ts';
import type { SlurmTools } from './slurm-tools.ts';

/** Slurm's own limit where its configuration says none. */
const usualArraySize = 1001;

/** Throws when the run has more jobs than an array may have: Slurm's own words do not say which limit it is. */
export async function assertQueueable({ file, jobs }: Plan, tools: SlurmTools): Promise<void> {
  const most = (await tools.setting('MaxArraySize')) ?? usualArraySize;
  if (jobs.length <= most - 1) return;
  throw new Fault(
    'file-invalid',
    `${file}: ${jobs.length} jobs are more than this cluster takes in one array: ${most - 1} (MaxArraySize = ${most})`,
    { fix: 'make several runs of fewer jobs, or ask the staff for a larger MaxArraySize', about: file },
  );
}
