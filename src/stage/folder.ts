import { countFiles, listSamples, fingerprint, planShards, type Shard } from './shards.ts';

/** A folder as one archive, before it is packed. */
export interface FolderFacts {
  shard: Shard;
  /** Number of files. */
  count: number;
  fingerprint: string;
}

/** What a folder's archive will be; reads no file. A link must not leave the folder, which is given without links. */
export async function describeFolder(folder: string): Promise<FolderFacts> {
  for await (const shard of planShards(listSamples(folder, folder), Infinity))
    return { shard, count: countFiles(shard.files), fingerprint: fingerprint(shard.files) };
  return { shard: { index: 0, files: [], samples: 0, bytes: 0 }, count: 0, fingerprint: '' };
}
