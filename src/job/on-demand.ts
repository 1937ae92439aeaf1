import type { DataSource } from './spec.ts';
import { formatSize } from '@updraft/base';

/** Whether the shards of the data come, and go, as the training asks for them. */
export const isOnDemand = ({ method }: Pick<DataSource, 'method'>): boolean => method === 'on-demand';

/** What the object itself takes on disk, as far as the job file says; of shards on demand, what is kept of them. */
export const heldBytes = ({
  expect,
  keepBytes,
}: Pick<DataSource, 'expect' | 'keepBytes'>): number | undefined =>
  keepBytes === undefined ? expect.bytes : Math.min(keepBytes, expect.bytes ?? Infinity);

/** Why shards do not fit, given the size of the largest: one is used while the next comes. */
export function keepProblem(keep: number, largest: number): { message: string; fix: string } | undefined {
  if (keep >= 2 * largest) return undefined;
  return {
    message:
      `keep = "${formatSize(keep)}" is too small: ` +
      `the largest shard has ${formatSize(largest)}, and two must fit`,
    fix: `set keep = "${formatSize(8 * largest)}", or stage the data with a smaller --shard-size`,
  };
}
