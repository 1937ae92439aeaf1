const percent = '%'.charCodeAt(0);
/** RFC 3986 `pchar`, without the characters that some parser between here and the disk treats specially. */
const plain = new Set(
  Buffer.from('/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&*():@='),
);

/**
 * A path in the one spelling used for requests and comparisons: `%41` and `A` become the same, a `%` that escapes
 * nothing is literal, and every character that is special in a URL or a Link header is escaped. Works on bytes,
 * because object names need not be UTF-8.
 */
export function escapePath(text: string): string {
  let escaped = '';
  for (const byte of unescapeBytes(text))
    escaped += plain.has(byte)
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return escaped;
}

/** The path as a person reads it; bytes that are not UTF-8 become U+FFFD. */
export const unescapePath = (text: string): string => unescapeBytes(text).toString('utf8');

function unescapeBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  let length = 0;
  for (let i = 0; i < bytes.length; i++, length++) {
    const pair = bytes.toString('latin1', i + 1, i + 3);
    if (bytes[i] === percent && /^[0-9A-Fa-f]{2}$/.test(pair)) {
      bytes[length] = Number.parseInt(pair, 16);
      i += 2;
    } else bytes[length] = bytes[i] ?? 0;
  }
  return bytes.subarray(0, length);
}

/** Whether a path is the prefix or below it, by whole components. The empty prefix, the root, covers everything. */
export const isUnder = (path: string, prefix: string): boolean =>
  path === prefix || path.startsWith(`${prefix}/`);
