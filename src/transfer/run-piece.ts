import type { Clock } from '../base/clock.ts';
import { asFault, Fault } from '../fault/fault.ts';
import { checkAnswer, type Accepted, type Identity } from './check-answer.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { orAborted } from './deadline.ts';
import type { BodyEnd } from './http-connection.ts';
import { requestObject, type Answer } from './object-request.ts';
import type { Policy } from './policy.ts';
import { RateMeter } from './rate-meter.ts';
import type { Source } from './roster.ts';
import type { Piece, Segments } from './segments.ts';
import { Setback } from './setback.ts';
import type { Sink } from './sink.ts';

/** What a piece needs of the transfer it belongs to. */
export interface PieceContext {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  readonly policy: Policy;
  readonly segments: Segments;
  readonly sink: Sink;
  readonly known: Identity;
  /** An answer was found good; runs before its first byte is used. */
  accepted(answer: Accepted, piece: RunningPiece): void | Promise<void>;
  delivered(piece: RunningPiece, bytes: number): void;
}

/** One piece on its way from one server. */
export interface RunningPiece {
  readonly piece: Piece;
  readonly source: Source;
  readonly controller: AbortController;
  readonly startedAt: number;
  /** When its last byte reached the sink, or the sink was ready for more. */
  movedAt: number;
  /** The sink is not done with the last bytes: the server cannot be blamed for the silence. */
  waitsForSink: boolean;
}

/** Fetches one piece into the sink. Rejects with a Setback, or with whatever ends the whole transfer. */
export async function runPiece(context: PieceContext, running: RunningPiece): Promise<void> {
  const { source, controller, piece } = running;
  const { signal } = controller;
  let answer: (Answer & { tokenSent: boolean }) | undefined;
  try {
    answer = await ask(context, running);
    const { connection, head, url } = answer;
    const asked = { ...askedOf(running), tokenSent: answer.tokenSent };
    const accepted = checkAnswer(head, asked, context.known);
    await context.accepted(accepted, running);
    const body = connection.body(takeInto(context, running, accepted, () => connection.destroy()));
    const end = await orAborted(body, signal);
    context.pool.give(url, connection);
    checkEnd(context, running, accepted, end);
  } catch (error) {
    answer?.connection.destroy();
    signal.throwIfAborted();
    throw asSetback(error, source, piece);
  }
}

async function ask(
  { pool, clock, policy, known, segments }: PieceContext,
  { piece, source, controller }: RunningPiece,
): Promise<Answer & { tokenSent: boolean }> {
  const privateHeaders = await source.located.headers(source.server);
  const last = piece.end === segments.size ? '' : String(piece.end - 1);
  const headers: Record<string, string> = { Range: `bytes=${piece.position}-${last}` };
  if (piece.position > 0 && known.etag !== undefined) headers['If-Range'] = known.etag;
  if (source.server.kind !== 'plain') {
    headers['X-Transfer-Status'] = 'true';
    headers['TE'] = 'trailers';
    // The cache answers 504 a little before we would hang up, and goes on fetching.
    headers['X-Pelican-Timeout'] = `${policy.headSeconds - 0.5}s`;
  }
  const request = {
    method: 'GET' as const,
    url: source.server.url,
    headers,
    privateHeaders,
    headMs: policy.headSeconds * 1000,
    signal: controller.signal,
  };
  const tokenSent = Object.keys(privateHeaders).some((name) => name.toLowerCase() === 'authorization');
  return { ...(await requestObject(pool, clock, request)), tokenSent };
}

function askedOf({ piece, source }: RunningPiece) {
  const name = new URL(source.server.url).pathname.split('/').at(-1) ?? '';
  return { host: source.server.host, name, offset: piece.position, maySkip: source.noRanges };
}

function takeInto(
  context: PieceContext,
  running: RunningPiece,
  { from, to }: Accepted,
  hangUp: () => void,
): (data: Buffer) => void | Promise<void> {
  const { piece, source } = running;
  const { sink, segments, clock } = context;
  source.meter ??= new RateMeter(clock.monotonic());
  let skip = piece.position - from;
  return (data) => {
    running.movedAt = clock.monotonic();
    const begin = Math.min(skip, data.length);
    skip -= begin;
    const length = Math.min(data.length - begin, piece.end - piece.position);
    if (length <= 0) {
      piece.position >= piece.end && to !== piece.end ? hangUp() : undefined;
      return;
    }
    const offset = piece.position;
    segments.advance(piece, length);
    context.delivered(running, length);
    const written = write(sink, offset, data.subarray(begin, begin + length), source.server.host);
    // More is coming that another server took over: hanging up is cheaper than reading it.
    const over = () => (piece.position >= piece.end && to !== piece.end ? hangUp() : undefined);
    if (written === undefined) {
      over();
      return;
    }
    running.waitsForSink = true;
    return written.then(() => {
      running.waitsForSink = false;
      running.movedAt = clock.monotonic();
      over();
    });
  };
}

/** What the sink throws is not the server's fault and ends the transfer. */
export class SinkFailure extends Error {
  readonly fault: Fault;

  constructor(thrown: unknown) {
    super('sink failed', { cause: thrown });
    this.fault = asFault(thrown);
  }
}

function write(sink: Sink, offset: number, chunk: Buffer, server: string): void | Promise<void> {
  try {
    return sink.write(offset, chunk, server)?.catch((error: unknown) => {
      throw new SinkFailure(error);
    });
  } catch (error) {
    throw new SinkFailure(error);
  }
}

function checkEnd(
  context: PieceContext,
  { piece, source }: RunningPiece,
  accepted: Accepted,
  end: BodyEnd,
): void {
  const { host } = source.server;
  const status = end.trailers.get('x-transfer-status');
  const failed = status !== undefined && !status.startsWith('200');
  if (piece.end === Infinity && !failed) context.segments.settle(piece.position);
  if (failed && piece.position >= piece.end) withdraw(context, piece, host, status);
  if (failed)
    throw new Setback(
      'broken',
      new Fault('transfer-failed', `${host}: transfer failed: ${status.slice(0, 200)}`),
    );
  if (piece.position < piece.end) throw cutOff(host, piece, accepted, 'ended the answer');
}

/** All bytes came, yet the server says they are not good: none of this answer can be trusted. */
function withdraw({ sink, segments }: PieceContext, piece: Piece, host: string, status: string): void {
  const fate = sink.discard();
  if (fate === 'gone')
    throw new SinkFailure(
      new Fault('data-corrupt', `${host} withdraws what it sent: ${status.slice(0, 200)}`),
    );
  if (fate === 'dropped') segments.putBack({ start: piece.start, end: piece.position }, host);
}

function cutOff(host: string, piece: Piece, { to }: { to: number | undefined }, how: string): Setback {
  const wanted = (to ?? piece.end) - piece.start;
  const got = piece.position - piece.start;
  return new Setback(
    'broken',
    new Fault('transfer-failed', `${host}: ${how} after ${got} of ${wanted} bytes`),
  );
}

function asSetback(error: unknown, source: Source, piece: Piece): Error {
  if (error instanceof Setback || error instanceof SinkFailure) return error;
  const { host } = source.server;
  if (error instanceof Fault) return error.info.retry === 'never' ? error : new Setback('broken', error);
  const fault = new Fault(
    'transfer-failed',
    `${host}: ${(error as Error).message} after ${piece.position - piece.start} bytes`,
    { cause: error },
  );
  return new Setback('broken', fault);
}
