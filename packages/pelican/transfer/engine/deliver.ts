import { abortable, type Clock } from '@updraft/base';
import { asFault, type Fault } from '../../fault.ts';
import type { ConnectionPool } from '../../http/connections.ts';
import type { TransferLimits } from '../limits.ts';
import type { Sink } from '../sinks/sink.ts';
import type { Accepted, Identity } from './check-response.ts';
import type { Fetcher } from './fetchers.ts';
import type { OriginAnswer } from './origin-answer.ts';
import type { Source } from './roster.ts';
import type { SegmentMap } from './segments.ts';

/** What a segment needs of the transfer it belongs to. */
export interface SegmentContext {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  readonly limits: TransferLimits;
  readonly segments: SegmentMap;
  readonly sink: Sink;
  readonly known: Identity;
  /** A manifest or the user's SHA-256 will find a mixture of versions. */
  readonly isProvable: boolean;
  /** The object's URL without secrets. */
  readonly shownUrl: string;
  readonly origin: OriginAnswer;
  /** Whether this server's digest of the object is the one that the bytes will be compared with. */
  hasSameDigest(source: Source): Promise<boolean>;
  /** Called for a good answer, before its first byte is used. */
  accepted(answer: Accepted, segment: Fetcher): void | Promise<void>;
  delivered(segment: Fetcher, bytes: number): void;
}

/** Gives the sink the size, before its first byte. */
export async function beginSink(sink: Sink, size: number | undefined): Promise<void> {
  try {
    await sink.begin(size);
  } catch (error) {
    throw new SinkFailure(error);
  }
}

/** Passes to the sink the bytes that belong to the segment. */
export function deliver(context: SegmentContext, fetcher: Fetcher, data: Buffer): void | Promise<void> {
  const { segment } = fetcher;
  const length = Math.min(data.length, segment.end - segment.position);
  if (length <= 0) return;
  const offset = segment.position;
  if (context.known.size === undefined && offset + length > (context.sink.beforeSize ?? Infinity))
    return askForRoom(context, fetcher).then(() => deliver(context, fetcher, data));
  fetcher.lastByteAt = context.clock.monotonic();
  // Recorded before the sink takes them, so that no server takes over bytes that are already here.
  segment.position += length;
  context.delivered(fetcher, length);
  const written = write(context, fetcher, offset, data.subarray(0, length));
  if (written === undefined) return;
  fetcher.taken = untilReady(context, fetcher, written);
  return fetcher.taken;
}

/** Waits for this side: the server is not to blame for the silence. */
export async function untilReady(
  { clock }: SegmentContext,
  fetcher: Fetcher,
  ready: Promise<void>,
): Promise<void> {
  fetcher.waitsForSink = true;
  await ready;
  fetcher.waitsForSink = false;
  fetcher.lastByteAt = clock.monotonic();
}

/** An error of the sink: no server's fault, and it ends the transfer. */
export class SinkFailure extends Error {
  readonly fault: Fault;

  constructor(thrown: unknown) {
    super('sink failed', { cause: thrown });
    this.fault = asFault(thrown);
  }
}

/** Checks the disk for room as soon as the origin says the size. */
async function askForRoom(context: SegmentContext, fetcher: Fetcher): Promise<void> {
  const answered = abortable(context.origin.answer(), fetcher.controller.signal);
  await untilReady(
    context,
    fetcher,
    answered.then(() => beginSink(context.sink, context.known.size)),
  );
}

function write(
  { sink }: SegmentContext,
  { segment, source }: Fetcher,
  offset: number,
  chunk: Buffer,
): void | Promise<void> {
  const failed = (error: unknown): never => {
    // Bytes that the sink did not take must not count as done: a later attempt would miss them.
    segment.position = offset;
    throw new SinkFailure(error);
  };
  try {
    return sink.write(offset, chunk, source.server.host)?.catch(failed);
  } catch (error) {
    return failed(error);
  }
}
