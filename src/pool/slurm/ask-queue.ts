import { expandIndices } from './array-indices.ts';
import type { SlurmTools } from './slurm-tools.ts';

/** How Slurm says that a job stands. */
export interface QueueRow {
  /** Slurm's word, like `PENDING` or `NODE_FAIL`. */
  state: string;
  /** Why it waits, or ended so. */
  reason: string;
}

/**
 * What squeue tells of arrays, by `ARRAY_INDEX`, and of what it does not know any more what sacct does, where there is
 * accounting. Plain columns: what `--json` prints differs from release to release.
 */
export async function askQueue(tools: SlurmTools, arrays: readonly number[]): Promise<Map<string, QueueRow>> {
  if (arrays.length === 0) return new Map();
  const ids = arrays.join(',');
  const listed = await tools
    .ask('squeue', ['-h', '-a', '-r', '-t', 'all', '-j', ids, '-o', '%F|%K|%T|%r'])
    .catch((error: unknown) => {
      // All of them have left the queue long ago.
      if (/invalid job id/i.test(String(error))) return '';
      throw error;
    });
  // Without accounting it fails, and there is nobody else to ask.
  const kept = await tools.ask('sacct', ['-n', '-X', '-P', '-j', ids, '-o', 'JobID,State']).catch(() => '');
  return new Map([...readAccounts(kept), ...readQueue(listed)]);
}

/** Lines of squeue: array, indices, state, reason. */
export function readQueue(text: string): [id: string, row: QueueRow][] {
  return linesOf(text).flatMap((line) => {
    const [array = '', indices = '', state = '', reason = ''] = line.split('|');
    return expandIndices(indices).map((index): [string, QueueRow] => [
      `${array}_${index}`,
      { state, reason },
    ]);
  });
}

/** Lines of sacct: `12_3|CANCELLED by 1000`, and `12_[4-9]|PENDING` of those that never started. */
export function readAccounts(text: string): [id: string, row: QueueRow][] {
  return linesOf(text).flatMap((line) => {
    const [id = '', words = ''] = line.split('|');
    const [array = '', indices = ''] = id.split('_');
    const [state = ''] = words.split(' ');
    return expandIndices(indices).map((index): [string, QueueRow] => [
      `${array}_${index}`,
      { state, reason: words },
    ]);
  });
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');
