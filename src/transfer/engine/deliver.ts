import type { Clock } from '../../base/clock.ts';
import { orAborted } from '../../base/map-limited.ts';
import { asFault, type Fault } from '../../fault/fault.ts';
import type { ConnectionPool } from '../../http/connections.ts';
import type { Policy } from '../policy.ts';
import type { Sink } from '../sinks/sink.ts';
import type { Accepted, Identity } from './check-answer.ts';
import type { Lane } from './lanes.ts';
import type { OriginWord } from './origin-word.ts';
import type { Segments } from './segments.ts';

/** What a piece needs of the transfer it belongs to. */
export interface PieceContext {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  readonly policy: Policy;
  readonly segments: Segments;
  readonly sink: Sink;
  readonly known: Identity;
  /** The object's URL, as it may be shown. */
  readonly shownUrl: string;
  readonly origin: OriginWord;
  /** The next answer must show that the object is the one an earlier attempt began. */
  readonly mustConfirm: boolean;
  /** An answer was found good; runs before its first byte is used. */
  accepted(answer: Accepted, piece: Lane): void | Promise<void>;
  delivered(piece: Lane, bytes: number): void;
}

/** Tells the sink the size, before its first byte. */
export async function beginSink(sink: Sink, size: number | undefined): Promise<void> {
  try {
    await sink.begin(size);
  } catch (error) {
    throw new SinkFailure(error);
  }
}

/** Hands bytes to the sink, as many as belong to the piece. */
export function deliver(context: PieceContext, lane: Lane, data: Buffer): void | Promise<void> {
  const { piece } = lane;
  const length = Math.min(data.length, piece.end - piece.position);
  if (length <= 0) return;
  const offset = piece.position;
  if (context.known.size === undefined && offset + length > (context.sink.beforeSize ?? Infinity))
    return askForRoom(context, lane).then(() => deliver(context, lane, data));
  lane.movedAt = context.clock.monotonic();
  // Before the sink takes them, so that nobody takes over what is already here.
  piece.position += length;
  context.delivered(lane, length);
  const written = write(context, lane, offset, data.subarray(0, length));
  if (written === undefined) return;
  lane.waitsForSink = true;
  return written.then(() => {
    lane.waitsForSink = false;
    lane.movedAt = context.clock.monotonic();
  });
}

/** What the sink throws is not the server's fault and ends the transfer. */
export class SinkFailure extends Error {
  readonly fault: Fault;

  constructor(thrown: unknown) {
    super('sink failed', { cause: thrown });
    this.fault = asFault(thrown);
  }
}

/** The disk is asked whether it has room as soon as the origin says for how much. */
async function askForRoom(context: PieceContext, lane: Lane): Promise<void> {
  lane.waitsForSink = true;
  await orAborted(context.origin.answer(), lane.controller.signal);
  await beginSink(context.sink, context.known.size);
  lane.waitsForSink = false;
  lane.movedAt = context.clock.monotonic();
}

function write(
  { sink }: PieceContext,
  { piece, source }: Lane,
  offset: number,
  chunk: Buffer,
): void | Promise<void> {
  const failed = (error: unknown): never => {
    // What the sink did not take must not be called done: a later attempt would miss it.
    piece.position = offset;
    throw new SinkFailure(error);
  };
  try {
    return sink.write(offset, chunk, source.server.host)?.catch(failed);
  } catch (error) {
    return failed(error);
  }
}
