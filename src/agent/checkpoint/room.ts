import { stat, statfs } from 'node:fs/promises';
import { removeTree } from '../../base/remove-tree.ts';
import { Fault } from '../../fault/fault.ts';
import { formatSize } from '../../job/units.ts';
import type { Whole } from './generation.ts';

/**
 * Throws a Fault with the figures when what must be copied does not fit on the disk of the store. Kept checkpoints make
 * room, the oldest first, but never the latest.
 */
export async function assertRoom(
  store: string,
  from: string,
  copied: number[],
  kept: readonly Whole[],
  isLast: boolean,
): Promise<void> {
  const isSameDisk = (await stat(store)).dev === (await stat(from)).dev;
  const need = isLast && isSameDisk ? 0 : copied.reduce((sum, bytes) => sum + bytes, 0);
  const older = kept.slice(1);
  while (need > (await freeBytes(store)) && older.length > 0) removeTree(older.pop()?.folder ?? '');
  const free = await freeBytes(store);
  if (need > free) throw noRoom(store, need, free);
}

function noRoom(store: string, need: number, free: number): Fault {
  return new Fault(
    'disk-full',
    `the checkpoint needs ${formatSize(need)}, and the disk of ${store} has ${formatSize(free)} free; the one before it stays`,
    { fix: 'ask for more `disk` in [resources], or let the training save less', about: store },
  );
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
