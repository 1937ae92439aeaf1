import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from '../base/is-gone.ts';
import { roundFolder, runFiles } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';

/** The plan by which the jobs of a round run: what a retry changed stays changed in the rounds after it. */
export async function roundPlan(runFolder: string, round: number): Promise<Plan> {
  for (let number = round; number > 1; number--) {
    const text = await readFile(path.join(roundFolder(runFolder, number), runFiles.plan), 'utf8').catch(
      (error: unknown) => {
        if (isGone(error)) return undefined;
        throw error;
      },
    );
    if (text !== undefined) return JSON.parse(text) as Plan;
  }
  return JSON.parse(await readFile(path.join(runFolder, runFiles.plan), 'utf8')) as Plan;
}
