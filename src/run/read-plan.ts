import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorReason } from '../base/error-reason.ts';
import { Fault } from '../fault/fault.ts';
import { runFiles } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';

/** The plan of a run as it was made. */
export async function readPlan(runFolder: string): Promise<Plan> {
  const file = path.join(runFolder, runFiles.plan);
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Plan;
  } catch (error) {
    throw new Fault('file-invalid', `the plan ${file} cannot be read: ${errorReason(error)}`, {
      fix: 'start another run with `updraft submit --new`',
      about: file,
      cause: error,
    });
  }
}
