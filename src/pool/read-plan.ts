import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorReason, unlessGone } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { roundFolder, runFiles } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';

/** The original plan of a run. */
export async function readPlan(runFolder: string): Promise<Plan> {
  const file = path.join(runFolder, runFiles.plan);
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Plan;
  } catch (error) {
    throw new Fault('file-invalid', `cannot read the plan ${file}: ${errorReason(error)}`, {
      fix: 'start a new run with `updraft submit --new`',
      about: file,
      cause: error,
    });
  }
}

/** The plan of a round: what a retry changed applies to all later rounds. */
export async function roundPlan(runFolder: string, round: number): Promise<Plan> {
  for (let number = round; number > 1; number--) {
    const file = path.join(roundFolder(runFolder, number), runFiles.plan);
    const text = await unlessGone(readFile(file, 'utf8'));
    if (text !== undefined) return JSON.parse(text) as Plan;
  }
  return await readPlan(runFolder);
}
