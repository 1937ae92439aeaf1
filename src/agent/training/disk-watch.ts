import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defined, formatSize, freeBytes, tried, given } from '@updraft/base';
import { isFull } from '@updraft/account/run-folder';
import type { Attempt } from '../attempt.ts';
import type { DiskSpace } from './command-end.ts';

/** Where processes share memory as files: PyTorch's data loaders pass batches there. */
export const sharedMemory = '/dev/shm';

/** Less than this counts as full: file systems reserve some. */
const minFreeBytes = 256 * 1024;

export const isFullNow = ({ freeBytes, isRefused = false }: DiskSpace): boolean =>
  isRefused || freeBytes < minFreeBytes;

/** Full now, or while the training ran: its temporary files may be gone with it. */
export const hasBeenFull = (disk: DiskSpace): boolean =>
  isFullNow(disk) || (disk.lowestBytes ?? Infinity) < minFreeBytes;

export function freeSpaceIn(folder: string): DiskSpace[] {
  const free = freeBytes(folder);
  return free === undefined ? [] : [{ folder, freeBytes: free }];
}

/** The figures of the disks, for a message. */
export const describeSpace = (disks: readonly DiskSpace[]): string =>
  disks
    .filter(({ folder }) => folder !== sharedMemory)
    .map((disk) => {
      const left = `${formatSize(disk.freeBytes)} left in ${disk.folder}`;
      if (disk.isRefused && disk.freeBytes >= minFreeBytes)
        return `${left}, which takes no more files or bytes (inodes or quota)`;
      return isFullNow(disk) || !hasBeenFull(disk)
        ? left
        : `${left}, ${formatSize(disk.lowestBytes ?? 0)} at the lowest`;
    })
    .join(', ');

/** Follows the free space of the disks that an attempt writes to. */
export class DiskWatch {
  readonly #disks: Pick<DiskSpace, 'folder' | 'isShared' | 'isHome'>[];
  readonly #lowest = new Map<string, number>();

  constructor({ order, scratch, context }: Attempt) {
    const home = context.env['HOME'] ?? '';
    // A worker of HTCondor has a home of its own.
    const isShared = context.restartFolder === undefined || undefined;
    this.#disks = given(
      { folder: scratch.root },
      { folder: order.attemptFolder, isShared: true },
      path.isAbsolute(home) && { folder: home, isHome: true as const, ...defined({ isShared }) },
    );
  }

  /** Call it often while the training runs. */
  poll(): void {
    for (const { folder, isHome } of this.#disks) {
      // The home may be a slow server's, and is asked only in the end.
      const free = isHome ? undefined : freeBytes(folder);
      if (free !== undefined) this.#lowest.set(folder, Math.min(free, this.#lowest.get(folder) ?? Infinity));
    }
  }

  /** What is left, found out by writing a small file: call it after something failed. */
  readings(): DiskSpace[] {
    this.poll();
    const own = this.#disks.flatMap((disk) => {
      const isRefused = takesNoMore(disk.folder) || undefined;
      // A home with room is of no interest; one in a read-only image reports no free bytes.
      if (disk.isHome && !isRefused) return [];
      const seen = defined({ lowestBytes: this.#lowest.get(disk.folder), isRefused });
      return freeSpaceIn(disk.folder).map((space) => ({ ...space, ...disk, ...seen }));
    });
    return [...own, ...freeSpaceIn(sharedMemory)];
  }
}

function takesNoMore(folder: string): boolean {
  const file = path.join(folder, `.updraft-room-${randomBytes(6).toString('hex')}`);
  try {
    writeFileSync(file, Buffer.alloc(minFreeBytes), { flag: 'wx', mode: 0o600 });
    return false;
  } catch (error) {
    return isFull(error);
  } finally {
    tried(() => rmSync(file, { force: true }));
  }
}
