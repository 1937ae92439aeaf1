/** The server does not speak valid HTTP/1.1. */
export class ProtocolError extends Error {}

export interface ResponseHead {
  status: number;
  reason: string;
  /** Names in lower case; repeated fields joined with a comma. */
  headers: ReadonlyMap<string, string>;
  keepAlive: boolean;
}

const maxHeadBytes = 64 * 1024;

/** Reads the head of a response from bytes that arrive in pieces of any size. */
export class HeadParser {
  #text = '';

  /** The head and where the body begins in `chunk`, or undefined while the head is not complete. */
  feed(chunk: Buffer): { head: ResponseHead; bodyAt: number } | undefined {
    const before = this.#text.length;
    const room = maxHeadBytes - before;
    this.#text += chunk.toString('latin1', 0, room);
    const end = this.#text.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (end < 0) {
      if (this.#text.length >= maxHeadBytes) throw new ProtocolError('response head over 64 KiB');
      if (before < 5 && this.#text.length >= 5 && !this.#text.startsWith('HTTP/'))
        throw new ProtocolError('not an HTTP response');
      return undefined;
    }
    const head = parseHead(this.#text.slice(0, end));
    const bodyAt = end + 4 - before;
    this.#text = '';
    if (head.status >= 200) return { head, bodyAt };
    // An interim answer (100, 103) comes before the real one.
    const real = this.feed(chunk.subarray(bodyAt));
    return real && { head: real.head, bodyAt: bodyAt + real.bodyAt };
  }
}

/** Parses status line and fields of a response head, without the blank line at its end. */
export function parseHead(text: string): ResponseHead {
  const lines = text.split('\r\n');
  const status = /^HTTP\/1\.([01]) (\d{3})(?: (.*))?$/.exec(lines[0] ?? '');
  if (status === null) throw new ProtocolError(`not an HTTP/1 status line: ${quote(lines[0] ?? '')}`);
  const headers = parseFields(lines.slice(1));
  const connection = headers.get('connection')?.toLowerCase() ?? '';
  const keepAlive = status[1] === '1' ? !connection.includes('close') : connection.includes('keep-alive');
  return { status: Number(status[2]), reason: status[3] ?? '', headers, keepAlive };
}

/** Parses header or trailer lines. */
function parseFields(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const field = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*$/.exec(line);
    if (field?.[1] === undefined || field[2] === undefined)
      throw new ProtocolError(`malformed header line: ${quote(line)}`);
    const name = field[1].toLowerCase();
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? field[2] : `${earlier}, ${field[2]}`);
  }
  return headers;
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 80));

interface Step {
  /** Where to continue in the chunk. */
  next: number;
  data: Buffer | undefined;
}

/** Removes the framing from a response body, in place: `data` is a view of the chunk, never a copy. */
export interface BodyDecoder {
  readonly done: boolean;
  /** The length that the framing announces, if it does. */
  readonly length: number | undefined;
  /** True if only the end of the connection ends the body. */
  readonly untilClose: boolean;
  readonly trailers: ReadonlyMap<string, string>;
  step(chunk: Buffer, at: number): Step;
}

export function bodyDecoder(head: ResponseHead, method: string): BodyDecoder {
  if (method === 'HEAD' || head.status === 204 || head.status === 304) return new LengthBody(0);
  const encoding = head.headers.get('transfer-encoding')?.toLowerCase();
  if (encoding === 'chunked') return new ChunkedBody();
  if (encoding !== undefined)
    throw new ProtocolError(`unknown transfer encoding ${JSON.stringify(encoding)}`);
  const length = head.headers.get('content-length');
  if (length === undefined) return new CloseBody();
  if (!/^\d{1,16}$/.test(length)) throw new ProtocolError(`bad Content-Length ${JSON.stringify(length)}`);
  return new LengthBody(Number(length));
}

const noTrailers: ReadonlyMap<string, string> = new Map();

class LengthBody implements BodyDecoder {
  readonly length: number;
  readonly untilClose = false;
  readonly trailers = noTrailers;
  #left: number;

  constructor(length: number) {
    this.length = length;
    this.#left = length;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  step(chunk: Buffer, at: number): Step {
    const next = Math.min(chunk.length, at + this.#left);
    this.#left -= next - at;
    return { next, data: chunk.subarray(at, next) };
  }
}

class CloseBody implements BodyDecoder {
  readonly done = false;
  readonly length = undefined;
  readonly untilClose = true;
  readonly trailers = noTrailers;

  step(chunk: Buffer, at: number): Step {
    return { next: chunk.length, data: chunk.subarray(at) };
  }
}

const maxLineBytes = 8 * 1024;
const maxTrailers = 64;

/** `chunked`: size line, data, empty line; after the last chunk, trailers up to an empty line. */
class ChunkedBody implements BodyDecoder {
  readonly length = undefined;
  readonly untilClose = false;
  trailers: ReadonlyMap<string, string> = noTrailers;
  done = false;
  #expects: 'size' | 'data' | 'data-end' | 'trailer' = 'size';
  #left = 0;
  #line = '';
  #trailerLines: string[] = [];

  step(chunk: Buffer, at: number): Step {
    if (this.#expects === 'data') {
      const next = Math.min(chunk.length, at + this.#left);
      this.#left -= next - at;
      if (this.#left === 0) this.#expects = 'data-end';
      return { next, data: chunk.subarray(at, next) };
    }
    const newline = chunk.indexOf(0x0a, at);
    const next = newline < 0 ? chunk.length : newline + 1;
    this.#line += chunk.toString('latin1', at, Math.min(next, at + maxLineBytes));
    if (this.#line.length >= maxLineBytes) throw new ProtocolError('chunk line too long');
    if (newline >= 0) {
      const line = this.#line.replace(/\r?\n$/, '');
      this.#line = '';
      this.#lineRead(line);
    }
    return { next, data: undefined };
  }

  #lineRead(line: string): void {
    if (this.#expects === 'data-end') {
      if (line !== '') throw new ProtocolError('chunk longer than its size');
      this.#expects = 'size';
    } else if (this.#expects === 'size') {
      const size = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
      if (size === undefined) throw new ProtocolError(`bad chunk size ${JSON.stringify(line.slice(0, 40))}`);
      this.#left = Number.parseInt(size, 16);
      this.#expects = this.#left === 0 ? 'trailer' : 'data';
    } else if (line !== '') {
      if (this.#trailerLines.push(line) > maxTrailers) throw new ProtocolError('too many trailers');
    } else {
      this.trailers = parseFields(this.#trailerLines);
      this.done = true;
    }
  }
}
