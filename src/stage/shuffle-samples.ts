import { createHash } from 'node:crypto';
import type { Sample } from './data-files.ts';

/**
 * Samples in an order that has nothing to do with their folders, and is the same wherever it is made: by a hash of
 * their names. All of them are in memory.
 */
export async function* shuffleSamples(samples: AsyncIterable<Sample>): AsyncGenerator<Sample> {
  const keyed: { key: string; sample: Sample }[] = [];
  for await (const sample of samples) {
    const key = createHash('sha256').update(sample[0]?.name ?? '');
    keyed.push({ key: key.digest('base64'), sample });
  }
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const { sample } of keyed) yield sample;
}
