import { Fault } from '../fault/fault.ts';

/** Proof of an object's bytes: size and SHA-256 of the whole and of each chunk. */
export interface Manifest {
  bytes: number;
  /** Every chunk has this size but the last, which has the rest. */
  chunkBytes: number;
  /** Hex SHA-256 of the whole object. */
  sha256: string;
  /** Hex SHA-256 of each chunk, in order. */
  chunks: string[];
}

const smallestChunk = 4 * 1024;
/** Chunks are held in memory until they are proven. */
const largestChunk = 64 << 20;

/** Reads a manifest from JSON text; `name` is for the message when it is not one. */
export function parseManifest(text: string, name: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Fault('file-invalid', `${name} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  const problem = manifestProblem(value);
  if (problem !== undefined) throw new Fault('file-invalid', `${name} is not a manifest: ${problem}`);
  return value as Manifest;
}

/** Why a value is no manifest, or undefined if it is one. */
function manifestProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'not an object';
  const { bytes, chunkBytes, sha256, chunks } = value as Partial<Record<keyof Manifest, unknown>>;
  if (!isCount(bytes)) return '`bytes` is not a size';
  if (!isCount(chunkBytes) || chunkBytes < smallestChunk || chunkBytes > largestChunk)
    return `\`chunkBytes\` is not between ${smallestChunk} and ${largestChunk}`;
  if (!isSha256(sha256)) return '`sha256` is not 64 hex digits';
  if (!Array.isArray(chunks) || !chunks.every(isSha256)) return '`chunks` is not a list of SHA-256 in hex';
  const expected = Math.ceil(bytes / chunkBytes);
  if (chunks.length !== expected) return `${chunks.length} chunks where ${bytes} bytes make ${expected}`;
  return undefined;
}

/** Where chunk `index` begins and ends. */
export function chunkRange(manifest: Manifest, index: number): { start: number; end: number } {
  const start = index * manifest.chunkBytes;
  return { start, end: Math.min(manifest.bytes, start + manifest.chunkBytes) };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isSha256(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}
