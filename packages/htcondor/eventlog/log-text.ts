import { printable } from '@updraft/base';
import { Fault } from '../fault.ts';

/** A byte order mark is kept: no byte is lost. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The part that was decoded last and, if it is all ASCII, its text. */
const latest: { bytes: Uint8Array | undefined; from: number; text: string | undefined } = {
  bytes: undefined,
  from: 0,
  text: undefined,
};
/** Many events, but a string that engines free soon: V8 keeps one of 128 KiB until it collects all garbage. */
const partBytes = 64 * 1024;

/**
 * Bytes of a log as text: UTF-8, or else Latin-1, so that no byte is lost. In ASCII every position is the same in bytes
 * and text: then a large part is decoded at once, and each event costs next to nothing. But it keeps the part alive:
 * `ownCopy` does not.
 */
export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  const from = start - (start % partBytes);
  if (end > from + partBytes) return decodePart(bytes.subarray(start, end));
  if (latest.bytes !== bytes || latest.from !== from) {
    latest.bytes = bytes;
    latest.from = from;
    latest.text = asciiText(bytes.subarray(from, from + partBytes));
  }
  const { text } = latest;
  return text === undefined ? decodePart(bytes.subarray(start, end)) : text.slice(start - from, end - from);
}

/**
 * A copy that keeps nothing else alive: engines represent a part of a string by a reference to the whole.
 * JavaScriptCore sees through `slice(1)`, and refers to the whole again.
 */
export const ownCopy = (text: string): string => ` ${text}`.replace(' ', '');

/** Keeps what a function makes of the first texts: a log has few different ones, a million times. */
export function remembering<T>(make: (text: string) => T, max = 1000): (text: string) => T {
  const known = new Map<string, T>();
  const keep = (text: string, made = make(text)): T => {
    if (known.size < max) known.set(text, made);
    return made;
  };
  return (text) => known.get(text) ?? keep(ownCopy(text));
}

function asciiText(bytes: Uint8Array): string | undefined {
  try {
    const text = utf8.decode(bytes);
    return text.length === bytes.length ? text : undefined;
  } catch {
    return undefined;
  }
}

function decodePart(part: Uint8Array): string {
  try {
    return utf8.decode(part);
  } catch {
    return latin1Text(part, 0, part.length);
  }
}

export const isDigit = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** As many characters as can be arguments of a function in every engine. */
const pieceSize = 8192;

/** One character per byte. */
export function latin1Text(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at += pieceSize)
    text += String.fromCharCode(...bytes.subarray(at, Math.min(at + pieceSize, end)));
  return text;
}

/** The same bytes: a log in UTF-16, as PowerShell writes files, is refused by name. */
export async function* refuseUtf16(
  name: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  let isFirst = true;
  for await (const piece of pieces) {
    const mark = isFirst ? latin1Text(piece, 0, 2) : '';
    if (mark === '\u00ff\u00fe' || mark === '\u00fe\u00ff')
      throw new Fault('file-invalid', `${printable(name)} is in UTF-16, which Updraft does not read`, {
        about: name,
        fix: 'save it as UTF-8: iconv -f UTF-16 -t UTF-8 LOG > NEW; in PowerShell, Out-File -Encoding utf8',
      });
    isFirst = false;
    yield piece;
  }
}
