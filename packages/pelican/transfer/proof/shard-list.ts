import { Fault } from '../../fault.ts';
import { type Manifest, type ManifestSource, manifestProblem, readJson, withoutKey } from './manifest.ts';

/** One archive of a data set, beside the list that names it. */
export interface ListedShard {
  name: string;
  files: number;
  /** Number of samples in it, which older lists do not have. */
  samples?: number;
  manifest: Manifest;
}

export const shardListText = (shards: readonly ListedShard[]): string => `${JSON.stringify({ shards })}\n`;

/** Reads a list of shards from JSON text; `name` is used in error messages. A fetched one loses its keys. */
export function parseShardList(text: string, name: string, source: ManifestSource): ListedShard[] {
  const { shards } = readJson(text, name) as { shards?: unknown };
  if (!Array.isArray(shards) || shards.length === 0 || !shards.every(isShard))
    throw new Fault('file-invalid', `${name} is not a list of shards`);
  return shards.map((shard) =>
    source === 'sent' ? shard : { ...shard, manifest: withoutKey(shard.manifest) },
  );
}

/** Shards are beside their list: a name leads nowhere else. */
const fileName = /^(?!\.{1,2}$)[^/\0]+$/;

function isShard(value: unknown): value is ListedShard {
  const { name, files = -1, samples = 0, manifest } = (value ?? {}) as Partial<ListedShard>;
  const isNamed = typeof name === 'string' && fileName.test(name);
  const isCount = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;
  return isNamed && isCount(files) && isCount(samples) && manifestProblem(manifest) === undefined;
}

/** The URL of a shard beside its list. */
export const besideList = (list: string, name: string): string =>
  list.replace(/[^/?]+(?=\?|$)/, () => encodeURIComponent(name));

export const sumOf = (shards: readonly ListedShard[]): { files: number; bytes: number } =>
  shards.reduce(
    (sum, { files, manifest }) => ({ files: sum.files + files, bytes: sum.bytes + manifest.bytes }),
    { files: 0, bytes: 0 },
  );
