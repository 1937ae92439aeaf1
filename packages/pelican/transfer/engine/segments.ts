/** Bytes from `start` up to, but not including, `end`. */
export interface Range {
  start: number;
  end: number;
}

/** A part of the object that one server is sending now. */
export interface Segment extends Range {
  readonly server: string;
  readonly start: number;
  /** The next byte expected. */
  position: number;
  /** May shrink while the segment runs: another server has taken over the rest. */
  end: number;
  /** One past the last byte of the answer that contains it. */
  promised: number;
}

interface Gap extends Range {
  /** Servers that sent this range damaged. */
  avoid: ReadonlySet<string>;
}

/** What a free server may get. */
export interface SegmentRequest {
  server: string;
  /** Size limit in bytes. */
  limit: number;
  /** Only bytes before this offset, because a reader in order has a limited buffer. */
  before: number;
  /** Segments begin and end at multiples of this, so that a chunk comes from one server. */
  grain: number;
}

/** A free server that could take over part of another's segment. */
export interface FreeServer {
  /** Bytes per second; 0 if not yet measured. */
  rate: number;
  /** From the request to its first byte. */
  answerSeconds: number;
}

const nobody: ReadonlySet<string> = new Set();
/** Less than this is not worth a separate request. */
const minTakeOverBytes = 256 * 1024;
/** Nor is what its server will send within this time, or before the new connection is up to speed. */
const minTakeOverSeconds = 0.02;

/**
 * Which bytes are here, which are being sent, and which are missing. Segments are assigned in order; when none is left,
 * a free server takes over the part of another's segment that would finish last.
 */
export class SegmentMap {
  size: number;
  #gaps: Gap[];
  readonly running = new Set<Segment>();
  /** Which server sent which bytes, in order of arrival; '' is an earlier attempt. */
  #sent: (Range & { server: string })[];
  #withdrawn: (Range & { server: string })[] = [];

  /** `size` is Infinity until it is known. */
  constructor(size: number, done: readonly Range[] = []) {
    this.size = size;
    this.#gaps = complement(done, size).map((range) => ({ ...range, avoid: nobody }));
    this.#sent = done.map((range) => ({ ...range, server: '' }));
  }

  /** The servers of these bytes, in order of their first byte. */
  get senders(): string[] {
    return [...new Set(this.#sent.map(({ server }) => server))];
  }

  /** What this server sent, in order. */
  sentBy(host: string): Range[] {
    const own = this.#sent.filter(({ server }) => server === host);
    return own.map(({ start, end }) => ({ start, end })).sort((a, b) => a.start - b.start);
  }

  get complete(): boolean {
    return this.#gaps.length === 0 && this.running.size === 0;
  }

  /** The size is known now: nothing lies beyond it. The end of an answer without a length only seemed to be it. */
  setSize(size: number): void {
    if (this.size < size) this.#gaps.push({ start: this.size, end: size, avoid: nobody });
    this.size = size;
    for (const segment of this.running) segment.end = Math.min(segment.end, size);
    this.#gaps = this.#gaps
      .filter((gap) => gap.start < size)
      .map((gap) => ({ ...gap, end: Math.min(gap.end, size) }));
  }

  /** Complete ranges, in order. */
  get done(): Range[] {
    const open = [...this.#gaps, ...[...this.running].map(({ position, end }) => ({ start: position, end }))];
    return complement(
      open.filter(({ start, end }) => start < end).sort((a, b) => a.start - b.start),
      this.size,
    );
  }

  get missingBytes(): number {
    const gaps = this.#gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0);
    return [...this.running].reduce((sum, segment) => sum + segment.end - segment.position, gaps);
  }

  /** The first missing range this server may send, cut to its limits. */
  claim({ server, limit, before, grain }: SegmentRequest): Segment | undefined {
    const index = this.#gaps.findIndex((gap) => gap.start < before && !gap.avoid.has(server));
    const gap = this.#gaps[index];
    if (gap === undefined) return undefined;
    const end = Math.min(gap.end, roundUp(Math.min(gap.start + limit, before), grain));
    if (end < gap.end) this.#gaps[index] = { ...gap, start: end };
    else this.#gaps.splice(index, 1);
    return this.#start(server, gap.start, end);
  }

  /** The same bytes once more, for a second server: the first that answers will send them. */
  race({ start, end }: Segment, server: string): Segment {
    return this.#start(server, start, end);
  }

  /** Shortens segments that were assigned without a limit, so that other servers can share the rest. */
  share(limit: number, grain: number): void {
    for (const segment of this.running) {
      const end = roundUp(segment.position + limit, grain);
      if (end < segment.end && !this.#isRaced(segment)) this.#cut(segment, end, nobody);
    }
  }

  /**
   * Takes over part of the running segment that would take longest, so that both end at about the same time; a segment
   * that does not move is taken over completely. `rateOf` is undefined for a segment that has just begun.
   */
  takeOver(
    wanted: SegmentRequest,
    { rate, answerSeconds }: FreeServer,
    rateOf: (segment: Segment) => number | undefined,
  ): Segment | undefined {
    let slowest: Segment | undefined;
    let slowestRate = 0;
    let longestSeconds = Math.max(minTakeOverSeconds, 2 * answerSeconds);
    for (const segment of this.running) {
      const segmentRate = rateOf(segment);
      if (segment.server === wanted.server || segment.end === Infinity || segmentRate === undefined) continue;
      if (this.#isRaced(segment)) continue;
      const seconds = (segment.end - segment.position) / Math.max(1, segmentRate);
      if (seconds <= longestSeconds) continue;
      slowest = segment;
      slowestRate = segmentRate;
      longestSeconds = seconds;
    }
    if (slowest === undefined) return undefined;
    const rest = slowest.end - slowest.position;
    // A server not yet measured is assumed to be as fast as the other.
    const kept = (rest * slowestRate) / (slowestRate + (rate > 0 ? rate : Math.max(1, slowestRate)));
    const middle = Math.ceil(slowest.position + kept);
    const aligned = roundUp(middle, wanted.grain);
    // A chunk from two servers is better than one that waits for a slow server to finish.
    const at = kept < 1 ? slowest.position : aligned < slowest.end ? aligned : middle;
    if (at >= wanted.before || slowest.end - at < Math.min(minTakeOverBytes, rest)) return undefined;
    this.#cut(slowest, at, nobody);
    return this.claim(wanted);
  }

  /** The segment has ended: what it did not deliver is missing again. */
  release(segment: Segment): void {
    this.running.delete(segment);
    const { server, start, position } = segment;
    if (start < position)
      this.#sent = [...without(this.#sent, { start, end: position }), { server, start, end: position }];
    if (segment.position < segment.end && !this.#isRaced(segment))
      this.#insert({ start: segment.position, end: segment.end, avoid: nobody });
  }

  /** A range is damaged: it is missing again, and this server is not asked for it. */
  putBack(range: Range, server: string): void {
    this.#sent = without(this.#sent, range);
    this.#insert({ ...range, avoid: new Set([server]) });
  }

  /** The server withdraws what it sent here: missing again unless a digest of the whole verifies it. */
  markWithdrawn({ server, start, position }: Segment): void {
    this.#withdrawn.push({ server, start, end: position });
  }

  /** Nothing verifies the whole: drops withdrawn ranges; true if there were any. */
  dropWithdrawn(): boolean {
    const withdrawn = this.#withdrawn;
    this.#withdrawn = [];
    for (const { server, ...range } of withdrawn) this.putBack(range, server);
    return withdrawn.length > 0;
  }

  /** No other server can help: whatever was cut off from a running answer returns to it. */
  unshare(): void {
    for (const segment of this.running)
      for (const gap of this.#gaps)
        if (gap.start === segment.end && gap.end <= segment.promised) {
          segment.end = gap.end;
          this.#gaps = this.#gaps.filter((each) => each !== gap);
        }
  }

  /** Any server may be asked for any range again. */
  allowAllServers(): void {
    this.#gaps = this.#gaps.map((gap) => ({ ...gap, avoid: nobody }));
  }

  #isRaced(segment: Segment): boolean {
    return [...this.running].some((each) => each !== segment && areRivals(each, segment));
  }

  #start(server: string, start: number, end: number): Segment {
    const segment: Segment = { server, start, position: start, end, promised: 0 };
    this.running.add(segment);
    return segment;
  }

  #cut(segment: Segment, at: number, avoid: ReadonlySet<string>): void {
    const end = segment.end;
    segment.end = at;
    this.#insert({ start: at, end, avoid });
  }

  #insert(gap: Gap): void {
    this.#gaps.push(gap);
    this.#gaps.sort((a, b) => a.start - b.start);
  }
}

/** Whether two servers were asked for the same bytes and neither has sent any. */
export const areRivals = (one: Segment, other: Segment): boolean =>
  one.start === other.start &&
  one.position === one.start &&
  other.position === other.start &&
  one.end > one.start;

/** The parts of [0, size) that the sorted ranges do not cover. */
function complement(ranges: readonly Range[], size: number): Range[] {
  const left: Range[] = [];
  let at = 0;
  for (const { start, end } of ranges) {
    if (start > at) left.push({ start: at, end: Math.min(start, size) });
    at = Math.max(at, end);
  }
  if (at < size) left.push({ start: at, end: size });
  return left;
}

function without<R extends Range>(ranges: readonly R[], gone: Range): R[] {
  return ranges.flatMap((each) =>
    complement([gone], each.end)
      .filter(({ end }) => end > each.start)
      .map(({ start, end }) => ({ ...each, start: Math.max(start, each.start), end })),
  );
}

const roundUp = (offset: number, grain: number): number => Math.ceil(offset / grain) * grain;

/** Smaller remainders come from one server. */
const minSharedBytes = 32 << 20;
const minSharedSeconds = 1;
const segmentSeconds = 4;
const minSegmentBytes = 8 << 20;
const maxSegmentBytes = 512 << 20;

export interface Flow {
  /** Bytes that the first server has sent so far. */
  sent: number;
  missing: number;
  rate: number;
}

/** Whether to ask a second server: only for big objects, and for what the first one will not have sent in a moment. */
export function mayWiden({ sent, missing, rate }: Flow): boolean {
  if (missing < minSharedBytes) return false;
  return sent < minSegmentBytes || missing / Math.max(1, rate) >= minSharedSeconds;
}

/** The size of one request: a few seconds' worth, so that requests cost little and a server can be dropped quickly. */
export const segmentBytes = (rate: number): number =>
  Math.min(maxSegmentBytes, Math.max(minSegmentBytes, rate * segmentSeconds));
