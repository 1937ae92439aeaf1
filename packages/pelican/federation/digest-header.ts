/** Digests of a whole object, in lower-case hex. */
export type Digests = Partial<Record<'md5' | 'crc32c' | 'sha1' | 'sha256' | 'adler32', string>>;

const bytesOf: Record<keyof Digests, number> = { md5: 16, crc32c: 4, sha1: 20, sha256: 32, adler32: 4 };
const names: Record<string, keyof Digests> = {
  md5: 'md5',
  crc32c: 'crc32c',
  sha: 'sha1',
  'sha-1': 'sha1',
  'sha-256': 'sha256',
  adler32: 'adler32',
};

/**
 * Digests that Pelican and XRootD servers have, in order of preference: the cheapest to compute that finds all
 * accidental damage. A server's digest is no proof against the server itself, so a stronger one gains nothing.
 * Not `crc32`: XRootD 5 computes cksum's, XRootD 6 and Pelican zlib's.
 */
export const algorithms = ['crc32c', 'sha-256', 'sha', 'md5', 'adler32'] as const;

/** For `Want-Digest`. Pelican's origin computes each digest without a weight, so only the first has none. */
export const wantOf = (names: readonly string[]): string =>
  names.map((name, place) => (place === 0 ? name : `${name};q=0.${9 - place}`)).join(', ');

export const wantDigest = wantOf(algorithms);

/**
 * Reads a Digest header (RFC 3230). Servers write checksums in hex, with or without leading zeros, and hashes in
 * base64, or the other way round. A value of the wrong length is mislabelled and dropped: ignoring a digest costs a
 * check, trusting a wrong one costs the object.
 */
export function parseDigestHeader(header: string | undefined): Digests {
  const digests: Digests = {};
  for (const part of (header ?? '').split(',')) {
    const equals = part.indexOf('=');
    const name = names[part.slice(0, Math.max(0, equals)).trim().toLowerCase()];
    if (name === undefined) continue;
    const value = toHex(part.slice(equals + 1).trim(), bytesOf[name]);
    if (value !== undefined) digests[name] = value;
  }
  return digests;
}

function toHex(value: string, bytes: number): string | undefined {
  const isShort = bytes === 4;
  if (/^[0-9a-f]+$/i.test(value) && (isShort ? value.length <= 8 : value.length === bytes * 2))
    return value.toLowerCase().padStart(bytes * 2, '0');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return undefined;
  const decoded = Buffer.from(value, 'base64');
  return decoded.length === bytes ? decoded.toString('hex') : undefined;
}
