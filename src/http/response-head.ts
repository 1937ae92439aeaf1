/** A server that does not speak HTTP/1.1 as we understand it. */
export class ProtocolError extends Error {}

export interface ResponseHead {
  status: number;
  reason: string;
  /** Names in lower case; repeated fields joined with a comma. */
  headers: ReadonlyMap<string, string>;
  keepAlive: boolean;
}

const maximumHeadBytes = 64 * 1024;

/** Reads the head of a response from bytes that arrive in pieces of any size. */
export class HeadParser {
  #text = '';

  /** The head and where the body begins in `chunk`, or undefined while the head is not complete. */
  feed(chunk: Buffer): { head: ResponseHead; bodyAt: number } | undefined {
    const before = this.#text.length;
    const room = maximumHeadBytes - before;
    this.#text += chunk.toString('latin1', 0, room);
    const end = this.#text.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (end < 0) {
      if (this.#text.length >= maximumHeadBytes) throw new ProtocolError('response head over 64 KiB');
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
    return real === undefined ? undefined : { head: real.head, bodyAt: bodyAt + real.bodyAt };
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
export function parseFields(lines: readonly string[]): Map<string, string> {
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

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
