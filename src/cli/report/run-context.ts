import path from 'node:path';
import type { RunState } from '../../journal/state.ts';
import { condorFiles } from '../../pool/condor/condor-files.ts';
import { readLogs } from '../../report/read-logs.ts';
import type { RunContext } from '../../report/log/run-resources.ts';
import { readPlan } from '../../run/read-plan.ts';

/** What a run's folder tells beside its journals. A copy may lack any of it: then there is less to report. */
export async function runContext(folder: string, { pool }: RunState): Promise<RunContext> {
  const plan = await readPlan(folder).catch(() => undefined);
  const log = path.join(folder, condorFiles.eventLog);
  const read = pool === 'condor' ? await readLogs([log]).catch(() => undefined) : undefined;
  return { askedMemoryBytes: plan?.spec.resources.memoryBytes, logged: read?.jobs };
}
