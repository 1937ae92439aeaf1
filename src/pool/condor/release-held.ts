import type { ResourceChange } from '../pool.ts';
import type { CondorTools } from './condor-tools.ts';

const heldStatus = '5';

/**
 * Releases those jobs that HTCondor holds, changed as said, and gives them. A job that is still in the queue keeps
 * what it saved at its evictions, which one that is submitted anew would not find again.
 */
export async function releaseHeld(
  tools: CondorTools,
  jobs: readonly string[],
  names: ReadonlyMap<string, string>,
  change: ResourceChange,
): Promise<Set<string>> {
  const asked = new Map(
    jobs.flatMap((job) => (names.has(job) ? [[names.get(job) ?? '', job] as const] : [])),
  );
  if (asked.size === 0) return new Set();
  const told = await tools.ask('condor_q', [...asked.keys(), '-af:j', 'JobStatus']);
  const held = told
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([id = '', status]) => (status === heldStatus && asked.has(id) ? [id] : []));
  if (held.length === 0) return new Set();
  for (const id of held) await edit(tools, id, change);
  await tools.ask('condor_release', [...held]);
  return new Set(held.map((id) => asked.get(id) ?? ''));
}

/** Its holds and starts so far no longer count for the rules of the run. */
async function edit(tools: CondorTools, id: string, change: ResourceChange): Promise<void> {
  const { memoryBytes, diskBytes, timeSeconds } = change;
  const values: Record<string, number | undefined> = {
    RequestMemory: memoryBytes === undefined ? undefined : Math.ceil(memoryBytes / 2 ** 20),
    RequestDisk: diskBytes === undefined ? undefined : Math.ceil(diskBytes / 2 ** 10),
    AllowedExecuteDuration: timeSeconds,
  };
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  const words = known.flatMap(([name, value]) => [name, String(value)]);
  if (words.length > 0) await tools.ask('condor_qedit', [id, ...words]);
}
