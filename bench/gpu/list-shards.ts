import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type ListedShard, shardListText } from '@updraft/pelican/transfer';
import { manifestOf } from '../manifest-of.ts';

/** Writes the list of the shards that `stream/make_shards.py` has made in a folder, as `updraft stage` does. */
export async function listShards(folder: string, list: string): Promise<void> {
  const made = path.join(folder, 'made.json');
  const shards = (JSON.parse(await readFile(made, 'utf8')) as Omit<ListedShard, 'manifest'>[]).map(
    (shard) => ({
      ...shard,
      manifest: manifestOf(path.join(folder, shard.name)),
    }),
  );
  await writeFile(path.join(folder, list), shardListText(shards));
  await rm(made);
}
