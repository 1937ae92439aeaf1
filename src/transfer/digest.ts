import type { Clock } from '../base/clock.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { algorithms, type Algorithm } from './hasher.ts';
import { requestObject } from './object-request.ts';
import type { Source } from './roster.ts';

/** What a server says the digest of the whole object is. */
export interface ServerDigest {
  algorithm: Algorithm;
  hex: string;
  server: string;
}

/** What a server says about an object without sending it. */
export interface ObjectFacts {
  size: number | undefined;
  digest: ServerDigest | undefined;
}

/** Asks for size and digest. A server may compute the digest first, which takes long; no answer is no fault. */
export async function askObject(
  source: Source,
  pool: ConnectionPool,
  clock: Clock,
  waitMs: number,
  signal: AbortSignal,
): Promise<ObjectFacts | undefined> {
  try {
    const { connection, head, url } = await requestObject(pool, clock, {
      method: 'HEAD',
      url: source.server.url,
      headers: { 'Want-Digest': algorithms.join(',') },
      privateHeaders: await source.located.headers(source.server),
      headMs: waitMs,
      signal,
    });
    await connection.body(() => undefined);
    pool.give(url, connection);
    if (head.status !== 200) return undefined;
    const best = bestDigest(head.headers.get('digest') ?? '');
    const length = head.headers.get('content-length');
    return {
      size: length === undefined ? undefined : Number(length),
      digest: best === undefined ? undefined : { ...best, server: source.server.host },
    };
  } catch {
    return undefined;
  }
}

/** The digest to prefer of a `Digest` field; what is mislabelled or unknown is passed over. */
export function bestDigest(field: string): { algorithm: Algorithm; hex: string } | undefined {
  const offered = new Map<string, string>();
  for (const item of field.split(',')) {
    const at = item.indexOf('=');
    if (at > 0) offered.set(item.slice(0, at).trim().toLowerCase(), item.slice(at + 1).trim());
  }
  for (const algorithm of algorithms) {
    const value = offered.get(algorithm);
    const hex = value === undefined ? undefined : toHex(algorithm, value);
    if (hex !== undefined) return { algorithm, hex };
  }
  return undefined;
}

const hashBytes: Partial<Record<Algorithm, number>> = { 'sha-256': 32, sha: 20, md5: 16 };

/** Checksums come in hex, leading zeros optional, or in base64 from old servers; hashes in base64 or hex. */
function toHex(algorithm: Algorithm, value: string): string | undefined {
  const bytes = hashBytes[algorithm] ?? 4;
  if (bytes === 4 && /^[0-9a-f]{1,8}$/i.test(value)) return value.toLowerCase().padStart(8, '0');
  if (value.length === bytes * 2 && /^[0-9a-f]+$/i.test(value)) return value.toLowerCase();
  if (!/^[0-9a-z+/]+={0,2}$/i.test(value)) return undefined;
  const decoded = Buffer.from(value, 'base64');
  return decoded.length === bytes ? decoded.toString('hex') : undefined;
}
