import { parseDigestHeader, type Digests } from '../../federation/digest-header.ts';
import type { ConnectionPool } from '../../http/connections.ts';
import { algorithms, type Algorithm } from './hasher.ts';
import { ask } from '../../http/exchange.ts';
import type { Source } from '../engine/roster.ts';

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
  waitMs: number,
  signal: AbortSignal,
): Promise<ObjectFacts | undefined> {
  try {
    const { connection, head, url } = await ask(pool, {
      method: 'HEAD',
      url: source.server.url,
      headers: { ...(await source.located.headers(source.server)), 'Want-Digest': algorithms.join(',') },
      headMs: waitMs,
      signal,
    });
    await connection.body(() => undefined);
    pool.give(url, connection);
    if (head.status !== 200) return undefined;
    const best = bestDigest(head.headers.get('digest'));
    const length = head.headers.get('content-length');
    return {
      size: length === undefined ? undefined : Number(length),
      digest: best === undefined ? undefined : { ...best, server: source.server.host },
    };
  } catch {
    return undefined;
  }
}

const nameOf: Record<Algorithm, keyof Digests> = {
  'sha-256': 'sha256',
  sha: 'sha1',
  crc32c: 'crc32c',
  crc32: 'crc32',
  md5: 'md5',
  adler32: 'adler32',
};

/** The digest to prefer of a `Digest` field. */
export function bestDigest(field: string | undefined): { algorithm: Algorithm; hex: string } | undefined {
  const offered = parseDigestHeader(field);
  for (const algorithm of algorithms) {
    const hex = offered[nameOf[algorithm]];
    if (hex !== undefined) return { algorithm, hex };
  }
  return undefined;
}
