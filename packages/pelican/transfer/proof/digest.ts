import { createHash } from 'node:crypto';
import type { Clock } from '@updraft/base';
import { algorithms, parseDigestHeader, wantDigest, type Digests } from '../../federation/digest-header.ts';
import { sendWithToken } from '../../federation/object-request.ts';
import type { OriginFacts } from '../../federation/origin-facts.ts';
import { withDeadline, type ConnectionPool } from '../../http/connections.ts';
import { sendRequest } from '../../http/exchange.ts';
import type { ResponseHead } from '../../http/response.ts';
import { versionOf, type Identity } from '../engine/check-response.ts';
import type { Source } from '../engine/roster.ts';
import { adler32Hasher } from './adler32.ts';
import { crc32cHasher } from './crc32c.ts';
import type { Hasher } from './hasher.ts';

export type Algorithm = (typeof algorithms)[number];

export function hasher(algorithm: Algorithm): Hasher {
  if (algorithm === 'crc32c') return crc32cHasher();
  if (algorithm === 'adler32') return adler32Hasher();
  const hash = createHash(algorithm === 'sha-256' ? 'sha256' : algorithm === 'sha' ? 'sha1' : 'md5');
  return { update: (chunk) => void hash.update(chunk), hex: () => hash.digest('hex') };
}

/** The most common digest: computed until the server has named its own. */
export const likelyAlgorithm: Algorithm = 'crc32c';

/** The digest of the whole object according to a server. */
export interface ServerDigest {
  algorithm: Algorithm;
  hex: string;
  server: string;
}

/** The digest that the whole will be compared with, if it is known by now. */
export type ExpectedDigest = () => Promise<Omit<ServerDigest, 'server'> | undefined>;

/** What a server says about an object without sending it. */
export interface ObjectChecksums extends Identity {
  digest: ServerDigest | undefined;
}

/** Asks for the size and, if wanted, a digest, which may take minutes to compute. Undefined on failure. */
export async function askObject(
  source: Source,
  pool: ConnectionPool,
  waitMs: number,
  signal: AbortSignal,
  digest = true,
): Promise<ObjectChecksums | undefined> {
  try {
    const { server, located } = source;
    const send = async (ours: Record<string, string>): Promise<ResponseHead> => {
      const headers = { ...ours, ...(digest && { 'Want-Digest': wantDigest }) };
      const request = { method: 'HEAD', url: server.url, headers, headMs: waitMs, signal } as const;
      const { connection, head, url } = await sendRequest(pool, request);
      await connection.body(() => undefined);
      pool.release(url, connection);
      return head;
    };
    const head = await sendWithToken(located, server, send, ({ status }) => status);
    if (head.status !== 200) return undefined;
    const best = bestDigest(head.headers.get('digest'));
    return { ...versionOf(head), digest: best && { ...best, server: source.server.host } };
  } catch {
    return undefined;
  }
}

/** What comes in time; undefined otherwise. */
export function within<T>(
  ms: number,
  coming: Promise<T>,
  wait: { clock: Clock; signal: AbortSignal },
): Promise<T | undefined> {
  const timeoutError = () => new Error('late');
  return withDeadline({ ...wait, ms, timeoutError }, () => coming).catch(() => undefined);
}

/** The longest wait for the size before the first bytes are used. */
const sizeWaitMs = 1_000;

/** The size according to a cache whose answer, which ends with a status trailer, does not begin with it. */
export async function askSize(
  source: Source,
  pool: ConnectionPool,
  signal: AbortSignal,
): Promise<OriginFacts | undefined> {
  const size = (await askObject(source, pool, sizeWaitMs, signal, false))?.size;
  return size === undefined
    ? undefined
    : { size, isCollection: false, server: source.server.host, kind: 'cache' };
}

/** The longest wait for digests that would show that two servers have the same version. */
const compareMs = 3_000;

/** Whether the server's digest of the object is the expected one; false if one of them does not come in time. */
export async function hasDigest(
  source: Source,
  pool: ConnectionPool,
  { digest, clock, signal }: { digest: ExpectedDigest; clock: Clock; signal: AbortSignal },
): Promise<boolean> {
  const own = await within(compareMs, digest(), { clock, signal });
  const other = own && (await askObject(source, pool, compareMs, signal))?.digest;
  return other !== undefined && other.algorithm === own?.algorithm && other.hex === own.hex;
}

const nameOf: Record<Algorithm, keyof Digests> = {
  'sha-256': 'sha256',
  sha: 'sha1',
  crc32c: 'crc32c',
  md5: 'md5',
  adler32: 'adler32',
};

/** The digest of a `Digest` field to compare with. */
export function bestDigest(field: string | undefined): { algorithm: Algorithm; hex: string } | undefined {
  const offered = parseDigestHeader(field);
  for (const algorithm of algorithms) {
    const hex = offered[nameOf[algorithm]];
    if (hex !== undefined) return { algorithm, hex };
  }
  return undefined;
}
