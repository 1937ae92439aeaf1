import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { abortable } from '@updraft/base';
import type { Exchange } from './exchange.ts';
import type { StoredObject } from './stored-object.ts';
import type { TroubleAction, ActionOf } from './trouble-rule.ts';
import type { Pacer } from './trouble.ts';

/** The trouble for one body; decided before the headers are sent. */
export interface BodyTrouble {
  cut: ActionOf<'stall'> | ActionOf<'reset'> | ActionOf<'truncate'> | undefined;
  corrupt: ActionOf<'corrupt'> | undefined;
  expire: ActionOf<'expire-token'> | undefined;
  pacers: Pacer[];
}

const bufferSize = 256 * 1024;

/** Picks the troubles of a body; those beyond this range are not used up. */
export function bodyTrouble({ context, asked }: Exchange, range: ByteRange): BodyTrouble {
  const { trouble } = context;
  const reached = (action: TroubleAction & { after: number }): boolean =>
    action.after < range.end - range.start;
  const touches = ({ at, length }: ActionOf<'corrupt'>): boolean =>
    at < range.end && at + length > range.start;
  return {
    cut:
      trouble.pick('stall', asked, reached) ??
      trouble.pick('reset', asked, reached) ??
      trouble.pick('truncate', asked, reached),
    corrupt: trouble.pick('corrupt', asked, touches),
    expire: trouble.pick('expire-token', asked, reached),
    pacers: trouble.pacers(asked),
  };
}

/**
 * Sends this range of the object, reading one buffer ahead. Returns true when all of it was sent; false when trouble
 * cut it and has already ended the connection or left it hanging.
 */
export async function sendBody(
  exchange: Exchange,
  object: StoredObject,
  range: ByteRange,
  trouble: BodyTrouble,
): Promise<boolean> {
  const { response, context, server, path, asked } = exchange;
  const limit = trouble.cut === undefined ? range.end : range.start + trouble.cut.after;
  const pieceSize = Math.min(bufferSize, ...trouble.pacers.map((pacer) => pacer.pieceSize));
  let [buffer, spare] = [Buffer.allocUnsafe(pieceSize), Buffer.allocUnsafe(pieceSize)];
  const read = (into: Buffer, at: number): Promise<number> =>
    at >= limit ? Promise.resolve(0) : object.read(into.subarray(0, Math.min(pieceSize, limit - at)), at);
  let reading = read(buffer, range.start);
  for (let position = range.start; position < limit;) {
    const length = await reading;
    if (length === 0) throw new Error('the object ended early');
    reading = read(spare, position + length);
    // A failure is thrown when the next iteration awaits it.
    reading.catch(() => undefined);
    for (const pacer of trouble.pacers) await pacer.pass(length, exchange.signal);
    const piece = buffer.subarray(0, length);
    if (trouble.corrupt !== undefined) corrupt(piece, position, trouble.corrupt);
    await write(response, piece, exchange.signal);
    context.counters.bytes(server.name, path, length);
    context.trouble.sent(asked, length);
    position += length;
    [buffer, spare] = [spare, buffer];
    if (trouble.expire !== undefined && position - range.start >= trouble.expire.after) expireToken(exchange);
  }
  if (trouble.cut === undefined) return true;
  await cutOff(exchange, trouble.cut);
  return false;
}

function corrupt(piece: Buffer, position: number, { at, length }: ActionOf<'corrupt'>): void {
  const from = Math.max(0, at - position);
  const to = Math.min(piece.length, at + length - position);
  for (let index = from; index < to; index += 1) piece[index] = (piece[index] ?? 0) ^ 0xff;
}

function expireToken({ context, token }: Exchange): void {
  if (token === undefined) return;
  for (const { issuer } of context.namespaces) issuer?.expire(token);
}

async function cutOff(
  { response, server, signal }: Exchange,
  cut: Exclude<BodyTrouble['cut'], undefined>,
): Promise<void> {
  if (cut.kind === 'reset') server.reset(response);
  if (cut.kind === 'stall' && !signal.aborted) await once(signal, 'abort');
}

/** Resolves when the bytes have left the buffer, which can then be reused. */
async function write(response: ServerResponse, piece: Buffer, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  response.write(piece, (error) => (error instanceof Error ? reject(error) : resolve(undefined)));
  await abortable(promise, signal);
}

export interface ByteRange {
  start: number;
  /** One past the last byte. */
  end: number;
}

/**
 * Parses a Range header: undefined for the complete object (no header, a malformed one, or several ranges, which a
 * server may ignore), `beyond` if it starts past the end.
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
