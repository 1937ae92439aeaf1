import { createHash } from 'node:crypto';
import type { DataFile, Sample } from './data-files.ts';
import { entryBytes, tarEnd } from './tar-entry.ts';

/** Files that become one object, and its size as a tar. */
export interface Shard {
  index: number;
  files: DataFile[];
  bytes: number;
}

/** Packs samples into shards of about this size; a sample is never split, so one that is larger is a shard of its own. */
export async function* planShards(
  samples: AsyncIterable<Sample>,
  largestBytes: number,
): AsyncGenerator<Shard> {
  let shard: Shard = { index: 0, files: [], bytes: tarEnd.length };
  for await (const sample of samples) {
    const bytes = sample.reduce((sum, file) => sum + entryBytes(file), 0);
    if (shard.files.length > 0 && shard.bytes + bytes > largestBytes) {
      yield shard;
      shard = { index: shard.index + 1, files: [], bytes: tarEnd.length };
    }
    shard.files.push(...sample);
    shard.bytes += bytes;
  }
  if (shard.files.length > 0) yield shard;
}

/** Changes when a file of it is another one, has another size or was written since. */
export function fingerprint(files: readonly DataFile[]): string {
  const hash = createHash('sha256');
  for (const { name, bytes, modifiedMs, isExecutable } of files)
    hash.update(`${name}\0${bytes}\0${modifiedMs}\0${isExecutable}\n`);
  return hash.digest('hex');
}
