/** A byte order mark is kept: no byte is lost. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes of a log as text: UTF-8, or else Latin-1, so that no byte is lost. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  const part = bytes.subarray(start, end);
  try {
    return utf8.decode(part);
  } catch {
    return latin1Text(part, 0, part.length);
  }
}

/** As many characters as can be arguments of a function in every engine. */
const pieceSize = 8192;

/** One character per byte. */
export function latin1Text(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at += pieceSize)
    text += String.fromCharCode(...bytes.subarray(at, Math.min(at + pieceSize, end)));
  return text;
}
