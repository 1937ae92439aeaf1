export interface ByteRange {
  start: number;
  /** One past the last byte. */
  end: number;
}

/**
 * What a Range header asks of an object: undefined for "all of it" (no header, one we cannot read, or several
 * ranges, which a server may ignore), `beyond` when nothing of it exists.
 */
export function parseByteRange(header: string | undefined, size: number): ByteRange | 'beyond' | undefined {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? 'beyond' : { start: size - length, end: size };
  }
  const start = Number(from);
  const end = to === '' ? size : Math.min(Number(to) + 1, size);
  if (to !== '' && Number(to) < start) return undefined;
  return start >= size ? 'beyond' : { start, end };
}
