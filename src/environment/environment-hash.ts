import { createHash } from 'node:crypto';
import type { LockedSet } from './pixi-lock.ts';

/**
 * A name for the content of one environment on one platform: the same for the same packages, whatever the order
 * they stand in, the version of the lock's format, the other environments of the lock and what else it says of them.
 */
export function environmentHash({ platform, packages }: LockedSet): string {
  const lines = packages.map(({ kind, url, sha256, md5 }) => `${kind} ${url} ${sha256 ?? md5 ?? ''}`);
  return createHash('sha256')
    .update(['updraft environment 1', platform.subdir, ...lines.sort()].join('\n'))
    .digest('hex');
}
