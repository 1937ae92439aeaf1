import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { formatSize, freeBytes, tried, given } from '@updraft/base';
import { Fault } from '../fault/fault.ts';

/** Whether a file operation failed because its disk is full, or a quota is used up. */
export function isFull(error: unknown): boolean {
  const { code, cause } = error as NodeJS.ErrnoException;
  return (
    code === 'ENOSPC' || code === 'EDQUOT' || (error instanceof Fault && cause !== undefined && isFull(cause))
  );
}

/** Which file system is full, whether it is space or quota, and the figures. The folder need not exist. */
export function describeFull(folder: string, error: unknown, neededBytes?: number): string {
  const place = existing(folder);
  const isQuota = [error, (error as Error).cause].some(
    (one) => (one as NodeJS.ErrnoException | undefined)?.code === 'EDQUOT',
  );
  const free = freeBytes(place);
  const figures = given(
    free !== undefined && `${formatSize(free)} free`,
    neededBytes !== undefined && `${formatSize(neededBytes)} needed`,
  );
  const what = isQuota ? 'disk quota exceeded on' : 'no space left on';
  return `${what} ${mountOf(place)}${figures.length === 0 ? '' : ` (${figures.join(', ')})`}`;
}

interface FullFolder {
  /** What cannot be written, for the message. */
  what: string;
  folder: string;
  error: unknown;
  neededBytes?: number | undefined;
  /** What becomes of the results. */
  kept?: string | undefined;
}

/** The run's own folder is full, which another attempt would not change. */
export function runFolderFull({ what, folder, error, neededBytes, kept }: FullFolder): Fault {
  const results = kept === undefined ? '' : `; the results are kept in ${kept}`;
  const again =
    kept === undefined
      ? '`updraft retry`'
      : '`updraft retry`, which returns the kept results without training again';
  return new Fault('run-folder-full', `${what}: ${describeFull(folder, error, neededBytes)}${results}`, {
    fix:
      `free space or quota there (\`df -h ${folder}\`, \`quota -s\`; ` +
      `\`updraft runs\` lists old runs), then ${again}`,
    about: folder,
    cause: error,
  });
}

function existing(folder: string): string {
  for (let place = path.resolve(folder); ; place = path.dirname(place))
    try {
      return realpathSync(place);
    } catch {
      if (place === path.dirname(place)) return place;
    }
}

/** The mount point of a path, and its kind, such as `/home (nfs4)`. */
function mountOf(place: string): string {
  // Of several mounts on one point the last is visible.
  const mounts = readMounts()
    .map((line) => line.split(' ').map((word) => word.replaceAll('\\040', ' ')))
    .filter(([, at = '']) => `${place}/`.startsWith(at === '/' ? at : `${at}/`));
  const [, at = '/', kind = ''] = mounts.sort(([, a = ''], [, b = '']) => a.length - b.length).at(-1) ?? [];
  return `${at} (${kind})`;
}

const readMounts = (): string[] => tried(() => readFileSync('/proc/self/mounts', 'utf8').split('\n')) ?? [];
