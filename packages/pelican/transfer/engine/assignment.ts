import { askCopy } from '../../federation/stat-object.ts';
import { lacksIdentity } from './check-response.ts';
import type { SegmentContext, Fetcher, Fetchers } from './fetchers.ts';
import type { Roster, Source } from './roster.ts';
import { mayWiden, segmentBytes, type Segment } from './segments.ts';

/** What the scheduler needs of the transfer. */
type AssignmentContext = Pick<
  SegmentContext,
  'clock' | 'limits' | 'sink' | 'segments' | 'known' | 'isProvable' | 'pool'
>;

/** A cache that has been fetching the object for this long, with this much still to go: other caches may have it. */
const slowFillMs = 5_000;
const slowFillSeconds = 120;

/**
 * Decides how many servers work on the object at once, and which segment each gets. One starts with everything that is
 * missing. Others are asked when its answer shows that it has a copy, and then only for their own copies: a cache
 * without one would fetch the object from the origin again. If the first is slow, any server is asked; if it is still
 * fetching the object and will be for long, only those that say they have it.
 */
export class SegmentScheduler {
  readonly #transfer: AssignmentContext;
  readonly #roster: Roster;
  readonly #fetchers: Fetchers;
  #hot = false;
  #width = 1;
  #askedCopies = false;

  constructor(transfer: AssignmentContext, roster: Roster, fetchers: Fetchers) {
    this.#transfer = transfer;
    this.#roster = roster;
    this.#fetchers = fetchers;
  }

  /** The first good answer: its age shows whether the server has a copy or is fetching the object now. */
  found({ server }: Source, age: number | undefined): void {
    this.#hot = server.kind !== 'cache' || (age ?? 0) > 0;
  }

  /** Decides whether to ask other servers now; true if so. */
  consider(fetcher: Fetcher, rate: number): boolean {
    if (this.#width > 1) return false;
    if (!this.#hot) {
      if (this.#isLong(fetcher, rate)) void this.#askCopies(fetcher);
      return false;
    }
    const sent = fetcher.segment.position - fetcher.segment.start;
    return mayWiden({ sent, missing: this.#transfer.segments.missingBytes, rate }) && this.#widen();
  }

  #isLong({ source, startedAt }: Fetcher, rate: number): boolean {
    const { clock, segments, known } = this.#transfer;
    if (this.#askedCopies || source.server.kind !== 'cache' || known.size === undefined) return false;
    const isLong = segments.missingBytes / Math.max(1, rate) > slowFillSeconds;
    return isLong && clock.monotonic() - startedAt > slowFillMs;
  }

  /** Asks the other caches whether they have a copy; once, and at no cost to the origin. */
  async #askCopies({ source, controller: { signal } }: Fetcher): Promise<void> {
    this.#askedCopies = true;
    const how = { federation: { wire: this.#transfer.pool }, signal };
    const others = this.#roster.sources.filter((each) => each !== source && each.server.kind === 'cache');
    const holding = others.map(async (each) => {
      const copy = await askCopy(each.located, each.server, how).catch(() => undefined);
      each.cold = copy?.holds !== 'whole';
      return !each.cold;
    });
    if ((await Promise.all(holding)).includes(true) && !signal.aborted) this.#hot = this.#widen();
  }

  /** A server is slow; true if others are asked from now on. */
  helpSlow(): boolean {
    this.#hot = false;
    return this.#widen();
  }

  /** No server can send ranges: one sends everything that is left. */
  narrow(): void {
    this.#hot = false;
    this.#width = 1;
    this.#transfer.segments.unshare();
  }

  /** The object is fetched again from its first byte. */
  restart(): void {
    this.#hot = this.#askedCopies = false;
    this.#width = 1;
  }

  /** Segments for free servers, while fewer than `width` are at work; the caller starts each before taking the next. */
  *next(): Generator<Pick<Fetcher, 'source' | 'segment' | 'helps'>> {
    for (const source of this.#roster.candidates(this.#transfer.clock.monotonic())) {
      const { race } = this.#fetchers;
      if (this.#fetchers.size >= Math.max(this.#width, race?.width ?? 0)) return;
      const raced = race && this.#fetchers.size < race.width ? race : undefined;
      // All may be waiting for one slow origin: only a few caches are made to fetch the object from it.
      const isOther = raced === undefined ? this.#hot : raced.whole >= this.#transfer.limits.maxServers;
      const helps = isOther && this.#fetchers.size > 0 && source.server.kind === 'cache';
      if (helps && source.cold) continue;
      const segment = this.#segmentFor(source, raced?.segment);
      if (segment !== undefined) yield { source, segment, helps };
    }
  }

  #widen(): boolean {
    const { limits, sink, segments, known, isProvable } = this.#transfer;
    const width = Math.min(limits.maxServers, this.#roster.sources.length);
    // Without a size, a second server would be asked for bytes that may lie beyond the end; without a version, nothing
    // would show that its bytes belong to the others.
    if (this.#width > 1 || width === 1 || known.size === undefined) return false;
    if (!isProvable && lacksIdentity(known)) return false;
    this.#width = width;
    // Cutting an answer off wastes what is in flight: the first server keeps its share of the rest.
    const share = Math.max(segmentBytes(0), segments.missingBytes / width);
    segments.share(Math.min(sink.maxSegment, share), sink.alignment);
    return true;
  }

  #segmentFor(source: Source, raced: Segment | undefined): Segment | undefined {
    const { segments, clock } = this.#transfer;
    const { alignment, before, maxSegment } = this.#transfer.sink;
    const server = source.server.host;
    // A single server sends everything from the first missing byte in one answer.
    if (this.#width === 1)
      return (
        segments.claim({ server, limit: Infinity, before: Infinity, grain: alignment }) ??
        (raced && segments.race(raced, server))
      );
    const rate = source.meter.rate(clock.monotonic());
    const wanted = { server, limit: Math.min(maxSegment, segmentBytes(rate)), before, grain: alignment };
    const freeServer = { rate, answerSeconds: source.answerSeconds };
    const segment =
      segments.claim(wanted) ??
      (raced && segments.race(raced, server)) ??
      segments.takeOver(wanted, freeServer, (each) => this.#fetchers.rateOf(each, source));
    this.#fetchers.endEmpty();
    return segment;
  }
}
