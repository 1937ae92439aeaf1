import path from 'node:path';
import type { RunState } from '../../journal/state.ts';
import { poolKind } from '../../pool/open-pool.ts';
import { readLogs } from '../../report/read-logs.ts';
import type { RunContext } from '../../history/run-jobs.ts';
import { readPlan } from '../../pool/read-plan.ts';

/** What a run's folder tells beside its journals. A copy may lack any of it: then there is less to report. */
export async function runContext(folder: string, { pool }: RunState): Promise<RunContext> {
  const plan = await readPlan(folder).catch(() => undefined);
  const log = poolKind(pool)?.eventLog;
  const read = log && (await readLogs([path.join(folder, log)]).catch(() => undefined));
  return { askedMemoryBytes: plan?.spec.resources.memoryBytes, logged: read ? read.jobs : undefined };
}
