import { createCipheriv } from 'node:crypto';
import { Fault } from '../../fault.ts';
import { hasher, type Hasher } from './digest.ts';

/** Size and SHA-256 of an object and of each of its chunks, to verify its bytes. */
export interface Manifest {
  bytes: number;
  /** The size of each chunk except the last, which holds the remainder. */
  chunkBytes: number;
  /** Hex SHA-256 of the whole object. */
  sha256: string;
  /** Hex SHA-256 of each chunk, in order. */
  chunks: string[];
  /** A cheaper check of each chunk, sound only as long as caches do not know the key. */
  keyed?: Keyed;
}

export interface Keyed {
  key: string;
  /** Hex AES-GMAC of each chunk, in order. */
  tags: string[];
}

/** How a manifest arrived: `sent` by the user, unseen by caches, or `fetched` from a URL, as the object itself. */
export type ManifestSource = 'sent' | 'fetched';

/** Number of hex digits of a key, and of a tag. */
const keyDigits = 32;
const minChunkBytes = 4 * 1024;
/** Limited because chunks stay in memory until they are verified. */
const maxChunkBytes = 64 << 20;

/**
 * Reads a manifest from JSON text; `name` is used in error messages. A key that caches have seen proves nothing, so
 * a fetched manifest loses its key.
 */
export function parseManifest(text: string, name: string, source: ManifestSource): Manifest {
  const value = readJson(text, name);
  const problem = manifestProblem(value);
  if (problem !== undefined) throw new Fault('file-invalid', `${name} is not a manifest: ${problem}`);
  const manifest = value as Manifest;
  return source === 'sent' ? manifest : withoutKey(manifest);
}

function readJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Fault('file-invalid', `${name} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** The manifest without its key, safe to publish. */
export function withoutKey({ bytes, chunkBytes, sha256, chunks }: Manifest): Manifest {
  return { bytes, chunkBytes, sha256, chunks };
}

/** Why a value is not a manifest, or undefined if it is one. */
function manifestProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'not an object';
  const { bytes, chunkBytes, sha256, chunks, keyed } = value as Partial<Record<keyof Manifest, unknown>>;
  if (!isCount(bytes)) return '`bytes` is not a size';
  if (!isCount(chunkBytes) || chunkBytes < minChunkBytes || chunkBytes > maxChunkBytes)
    return `\`chunkBytes\` is not between ${minChunkBytes} and ${maxChunkBytes}`;
  if (!isSha256(sha256)) return '`sha256` is not 64 hex digits';
  if (!Array.isArray(chunks) || !chunks.every(isSha256)) return '`chunks` is not a list of SHA-256 in hex';
  const expected = Math.ceil(bytes / chunkBytes);
  if (chunks.length !== expected) return `${chunks.length} chunks where ${bytes} bytes make ${expected}`;
  return keyed === undefined ? undefined : keyedProblem(keyed, expected);
}

function keyedProblem(value: unknown, expected: number): string | undefined {
  if (typeof value !== 'object' || value === null) return '`keyed` is not an object';
  const { key, tags } = value as Partial<Record<keyof Keyed, unknown>>;
  if (!isTag(key)) return `\`keyed.key\` is not ${keyDigits} hex digits`;
  if (!Array.isArray(tags) || !tags.every(isTag))
    return `\`keyed.tags\` is not a list of ${keyDigits} hex digits each`;
  return tags.length === expected ? undefined : `${tags.length} tags for ${expected} chunks`;
}

export function chunkRange(manifest: Manifest, index: number): { start: number; end: number } {
  const start = index * manifest.chunkBytes;
  return { start, end: Math.min(manifest.bytes, start + manifest.chunkBytes) };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const isTag = (value: unknown): value is string =>
  typeof value === 'string' && value.length === keyDigits && /^[0-9a-f]+$/.test(value);

const isSha256 = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** The check of one chunk: a hash to feed in order, and its expected value. */
export interface ChunkProof {
  hash: Hasher;
  expected: string | undefined;
}

/** The cheapest check that the manifest has for a chunk. */
export function chunkProof({ keyed, chunks }: Manifest, index: number): ChunkProof {
  if (keyed === undefined) return { hash: hasher('sha-256'), expected: chunks[index] };
  return { hash: tagger(keyed.key, index), expected: keyed.tags[index] };
}

/**
 * The tag of one chunk: AES-GMAC with the chunk's number as the nonce. It takes a tenth of SHA-256's time, and without
 * the key, other bytes with the same tag are as hard to find as with the same hash.
 */
export function tagger(key: string, index: number): Hasher {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(index, 6, 6);
  const cipher = createCipheriv('aes-128-gcm', Buffer.from(key, 'hex'), nonce);
  return {
    update: (chunk) => void cipher.setAAD(chunk),
    hex: () => {
      cipher.final();
      return cipher.getAuthTag().toString('hex');
    },
  };
}

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
