import { arrayIndices } from './array-indices.ts';
import type { SlurmTools } from './slurm-tools.ts';
import type { TaskId } from './task-ids.ts';

/** Cancels jobs: those that wait leave the queue, those that run are asked to end. */
export async function stopTasks(tools: SlurmTools, tasks: readonly TaskId[]): Promise<void> {
  for (const name of taskExpressions(tasks))
    await tools.ask('scancel', [name]).catch((error: unknown) => {
      // Those that have left the queue by themselves need no cancelling.
      if (!/invalid job id|already completing or completed/i.test(String(error))) throw error;
    });
}

/** Jobs as Slurm's commands take several of an array: `12_[0-9,14]`. */
export function taskExpressions(tasks: readonly TaskId[]): string[] {
  const arrays = Map.groupBy(tasks, ({ array }) => array);
  return [...arrays].map(([array, its]) => {
    const indices = its.map(({ index }) => index).sort((a, b) => a - b);
    return `${array}_[${arrayIndices(indices)}]`;
  });
}
