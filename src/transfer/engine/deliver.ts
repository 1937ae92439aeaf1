import type { Clock } from '../../base/clock.ts';
import { abortable } from '../../base/map-limited.ts';
import { asFault, type Fault } from '../../fault/fault.ts';
import type { ConnectionPool } from '../../http/connections.ts';
import type { TransferLimits } from '../limits.ts';
import type { Sink } from '../sinks/sink.ts';
import type { Accepted, Identity } from './check-response.ts';
import type { Fetcher } from './fetchers.ts';
import type { OriginAnswer } from './origin-answer.ts';
import type { SegmentMap } from './segments.ts';

/** What a piece needs of the transfer it belongs to. */
export interface SegmentContext {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  readonly limits: TransferLimits;
  readonly segments: SegmentMap;
  readonly sink: Sink;
  readonly known: Identity;
  /** The object's URL, as it may be shown. */
  readonly shownUrl: string;
  readonly origin: OriginAnswer;
  /** The next answer must show that the object is the one an earlier attempt began. */
  readonly mustConfirm: boolean;
  /** An answer was found good; runs before its first byte is used. */
  accepted(answer: Accepted, segment: Fetcher): void | Promise<void>;
  delivered(segment: Fetcher, bytes: number): void;
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
export function deliver(context: SegmentContext, fetcher: Fetcher, data: Buffer): void | Promise<void> {
  const { segment } = fetcher;
  const length = Math.min(data.length, segment.end - segment.position);
  if (length <= 0) return;
  const offset = segment.position;
  if (context.known.size === undefined && offset + length > (context.sink.beforeSize ?? Infinity))
    return askForRoom(context, fetcher).then(() => deliver(context, fetcher, data));
  fetcher.lastByteAt = context.clock.monotonic();
  // Before the sink takes them, so that nobody takes over what is already here.
  segment.position += length;
  context.delivered(fetcher, length);
  const written = write(context, fetcher, offset, data.subarray(0, length));
  if (written === undefined) return;
  fetcher.waitsForSink = true;
  return written.then(() => {
    fetcher.waitsForSink = false;
    fetcher.lastByteAt = context.clock.monotonic();
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
async function askForRoom(context: SegmentContext, fetcher: Fetcher): Promise<void> {
  fetcher.waitsForSink = true;
  await abortable(context.origin.answer(), fetcher.controller.signal);
  await beginSink(context.sink, context.known.size);
  fetcher.waitsForSink = false;
  fetcher.lastByteAt = context.clock.monotonic();
}

function write(
  { sink }: SegmentContext,
  { segment, source }: Fetcher,
  offset: number,
  chunk: Buffer,
): void | Promise<void> {
  const failed = (error: unknown): never => {
    // What the sink did not take must not be called done: a later attempt would miss it.
    segment.position = offset;
    throw new SinkFailure(error);
  };
  try {
    return sink.write(offset, chunk, source.server.host)?.catch(failed);
  } catch (error) {
    return failed(error);
  }
}
