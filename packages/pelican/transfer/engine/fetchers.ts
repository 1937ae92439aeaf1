import { type Clock, abortable } from '@updraft/base';
import { Fault, asFault } from '../../fault.ts';
import { raceWidth, type ConnectionPool } from '../../http/connections.ts';
import { stallSeconds, type TransferLimits } from '../limits.ts';
import type { Source } from './roster.ts';
import { areRivals, type Segment, type SegmentMap } from './segments.ts';
import { Setback, type Accepted, type Identity } from './check-response.ts';
import type { Sink } from '../sinks/sink.ts';
import type { OriginAnswer } from './origin-answer.ts';

/** One server at work on one segment. */
export interface Fetcher {
  readonly segment: Segment;
  readonly source: Source;
  readonly controller: AbortController;
  readonly startedAt: number;
  /** Another server already delivers: this one is asked only for what it has, and must not fetch it first. */
  readonly helps: boolean;
  /** Its server has answered, with what was asked for. */
  answered?: boolean;
  /** When its last byte reached the sink, or the sink was ready for more. */
  lastByteAt: number;
  /** The sink is not ready, or still processes the last bytes: the server is not to blame for the silence. */
  waitsForSink: boolean;
  /** Settles when the sink has taken the last bytes: they count as delivered before, and the server may be given up. */
  taken?: Promise<void>;
}

/** A fetcher silent for this long may be taken over. */
const silentMs = 1_000;
/** The longest wait for the end of an answer whose bytes are all here. */
const lingerMs = 2_000;
/** A longer interval than this between two checks means that something blocked the event loop. */
const loopStallMs = 2_000;
const stopped = new Error('stopped');

/** The fetchers at work now. */
export class Fetchers {
  readonly #clock: Clock;
  readonly #open = new Map<Fetcher, Promise<void>>();
  #watchedAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Names of the servers at work. */
  get servers(): string[] {
    return [...this.#open.keys()].map(({ source }) => source.server.host);
  }

  /** Starts a fetcher; `closed` gets its error, unless it was stopped from here. */
  start(
    work: Pick<Fetcher, 'source' | 'segment' | 'helps'>,
    run: (fetcher: Fetcher) => Promise<void>,
    closed: (error?: Error) => void,
  ): void {
    const now = this.#clock.monotonic();
    const controller = new AbortController();
    const fetcher: Fetcher = { ...work, controller, startedAt: now, lastByteAt: now, waitsForSink: false };
    const { source } = work;
    source.busy = true;
    const close = (error?: Error) => {
      source.busy = false;
      // Who lost a race has taken no part in the transfer.
      if (error !== stopped || fetcher.answered)
        source.turn.seconds += (this.#clock.monotonic() - fetcher.startedAt) / 1000;
      this.#open.delete(fetcher);
      closed(error === stopped ? undefined : error);
    };
    const runAndTake = async (): Promise<void> => {
      try {
        await run(fetcher);
      } finally {
        await fetcher.taken;
      }
    };
    this.#open.set(
      fetcher,
      runAndTake().then(() => close(), close),
    );
  }

  /** While no server answers: what the first of them was asked for, and how many may be asked for it by now. */
  get race(): { segment: Segment; width: number; whole: number } | undefined {
    const open = [...this.#open.keys()];
    const [first] = open;
    if (first === undefined || open.some(({ answered }) => answered)) return undefined;
    const width = raceWidth(this.#clock.monotonic() - first.lastByteAt);
    return { segment: first.segment, width, whole: open.filter(({ helps }) => !helps).length };
  }

  /** Its server has answered first: the others that were asked for the same bytes are left, and not to blame. */
  win(fetcher: Fetcher): void {
    fetcher.answered = true;
    for (const { segment, controller } of this.#open.keys()) {
      if (segment === fetcher.segment || !areRivals(segment, fetcher.segment)) continue;
      segment.end = segment.position;
      controller.abort(stopped);
    }
  }

  /** Judges each fetcher that is not waiting for its sink, and ends those that are stalled or too slow to keep. */
  watch(judge: (status: FetcherStatus, fetcher: Fetcher) => Judgement): { slow: boolean } {
    const now = this.#clock.monotonic();
    this.#discountBlockedTime(now);
    let slow = false;
    for (const fetcher of this.#open.keys()) {
      if (fetcher.waitsForSink || fetcher.controller.signal.aborted) continue;
      const { segment, source } = fetcher;
      const status = {
        quietMs: now - fetcher.lastByteAt,
        runningMs: now - fetcher.startedAt,
        rate: source.meter.rate(now),
      };
      if (segment.position >= segment.end && status.quietMs > lingerMs) {
        fetcher.controller.abort(stopped);
        continue;
      }
      const judgement = judge(status, fetcher);
      slow ||= judgement === 'slow';
      if (judgement === 'drop')
        end(fetcher, `sends ${Math.round(status.rate)} bytes/s, other servers far more`);
      if (judgement === 'stalled') {
        const got = segment.position - segment.start;
        end(fetcher, `sent ${got} bytes, then nothing for ${(status.quietMs / 1000).toFixed(1)} s`);
      }
    }
    return { slow };
  }

  /** Ends fetchers whose segment was taken over completely. */
  endEmpty(): void {
    for (const fetcher of this.#open.keys())
      if (fetcher.segment.position >= fetcher.segment.end && (untouched(fetcher) || this.#silent(fetcher)))
        end(fetcher, 'fell silent');
  }

  /**
   * Bytes per second of the fetcher that works on `segment`: 0 if it is silent, undefined if it has just begun. When a
   * `helper` could take over part of it: a helper that failed last time takes nothing from a server that may deliver,
   * and a server that failed last time does not keep a segment of which it has sent nothing.
   */
  rateOf(segment: Segment, helper?: Source): number | undefined {
    const fetcher = [...this.#open.keys()].find((each) => each.segment === segment);
    if (fetcher === undefined || this.#silent(fetcher)) return 0;
    if (helper !== undefined && failedBefore(helper)) return undefined;
    if (untouched(fetcher)) return helper !== undefined && failedBefore(fetcher.source) ? 0 : undefined;
    return fetcher.source.meter.rate(this.#clock.monotonic());
  }

  bestOtherRate(fetcher: Fetcher): number {
    return [...this.#open.keys()].reduce(
      (best, each) => (each === fetcher ? best : Math.max(best, this.rateOf(each.segment) ?? 0)),
      0,
    );
  }

  get waitForSink(): boolean {
    return [...this.#open.keys()].some(({ waitsForSink }) => waitsForSink);
  }

  /** Stops all fetchers and waits for them. */
  async stop(): Promise<void> {
    for (const { controller } of this.#open.keys()) controller.abort(stopped);
    await Promise.all(this.#open.values());
  }

  /** Time in which this process itself was blocked, such as in a write to a slow disk, does not count as silence. */
  #discountBlockedTime(now: number): void {
    const stalledMs = now - this.#watchedAt;
    if (stalledMs > loopStallMs)
      for (const fetcher of this.#open.keys())
        fetcher.lastByteAt = Math.min(now, fetcher.lastByteAt + stalledMs);
    this.#watchedAt = now;
  }

  #silent(fetcher: Fetcher): boolean {
    return !fetcher.waitsForSink && this.#clock.monotonic() - fetcher.lastByteAt > silentMs;
  }
}

const untouched = ({ segment }: Fetcher): boolean => segment.position === segment.start;
const failedBefore = ({ breaker }: Source): boolean => breaker.failures > 0;

function end({ controller, source }: Fetcher, what: string): void {
  const { host } = source.server;
  controller.abort(new Setback('broken', new Fault('transfer-stalled', `${host}: ${what}`, { about: host })));
}

/** One running segment as the watchdog sees it. */
export interface FetcherStatus {
  /** Milliseconds since its last byte reached the sink, without the time spent waiting for the sink. */
  quietMs: number;
  runningMs: number;
  /** Bytes per second over the last seconds. */
  rate: number;
}

export interface SpeedContext {
  /** Best rate of the other servers that deliver now; 0 if none does. */
  bestOther: number;
  /** Another server could be asked instead. */
  alternative: boolean;
  size: number;
}

/** `slow`: ask another server too; `drop`: another server does its work better; `stalled`: give it up. */
export type Judgement = 'fine' | 'slow' | 'drop' | 'stalled';

/** Before this, a rate says more about the start of the connection than about the server. */
const rampMs = 5_000;
/** A slow server still helps if it delivers this share of the best rate. */
const helpfulShare = 1 / 16;
/** An object should not take longer than this. */
const maxObjectSeconds = 6 * 3600;

/** Judges one running segment. Pure: the caller reads the clock. */
export function judgeSegment(
  status: FetcherStatus,
  context: SpeedContext,
  limits: TransferLimits,
): Judgement {
  if (status.quietMs >= stallSeconds(limits, context.bestOther > 0) * 1000) return 'stalled';
  if (status.runningMs < Math.min(rampMs, limits.stallSeconds * 1000)) return 'fine';
  if (status.rate >= speedFloor(context, limits)) return 'fine';
  if (!context.alternative) return 'fine';
  return status.rate < context.bestOther * helpfulShare ? 'drop' : 'slow';
}

/** Bytes per second below which a server is too slow for this object. */
export function speedFloor(context: SpeedContext, limits: TransferLimits): number {
  const size = Number.isFinite(context.size) ? context.size : 0;
  return Math.max(limits.floorBytesPerSecond, size / maxObjectSeconds, context.bestOther * helpfulShare);
}

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
