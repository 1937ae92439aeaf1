import type { Range, Segments } from './segments.ts';

interface Doubt {
  server: string;
  /** What it sent that was not fetched again yet. */
  rest: Range[];
  /** Something of it differed when it came from somebody else. */
  isGuilty: boolean;
}

/** The first share of each server's bytes that is fetched again; the next ones double. */
const firstShare = 1 / 64;
const smallestShare = 1 << 20;

/**
 * All bytes together are proven wrong, and nobody knows which: who sent what is fetched again from somebody else, a
 * little of each server first. One whose bytes differ is found out by that, and all it sent comes next.
 */
export class Doubts {
  readonly #doubts: Doubt[];
  #share: number;
  #turn = 0;

  constructor(segments: Segments) {
    this.#doubts = segments.senders.map((server) => ({
      server,
      rest: segments.sentBy(server),
      isGuilty: false,
    }));
    this.#share = Math.max(smallestShare, segments.size * firstShare);
  }

  /** Hosts whose bytes turned out wrong. */
  get guilty(): string[] {
    return this.#doubts.filter(({ isGuilty }) => isGuilty).map(({ server }) => server);
  }

  /** What to fetch again now, and who sent it; undefined when all of it was. */
  next(): { server: string; ranges: Range[]; differs: () => void } | undefined {
    const open = this.#doubts.filter(({ rest }) => rest.length > 0);
    const doubt = open.find(({ isGuilty }) => isGuilty) ?? open[this.#turn % open.length];
    if (doubt === undefined) return undefined;
    if (++this.#turn % open.length === 0) this.#share *= 2;
    const ranges = cut(doubt.rest, doubt.isGuilty ? Infinity : this.#share);
    doubt.rest = subtract(doubt.rest, ranges);
    return { server: doubt.server, ranges, differs: () => (doubt.isGuilty = true) };
  }
}

/** The first bytes of these ranges, as many as wanted. */
function cut(ranges: readonly Range[], bytes: number): Range[] {
  const taken: Range[] = [];
  let left = bytes;
  for (const { start, end } of ranges) {
    if (left <= 0) break;
    const to = Math.min(end, start + left);
    taken.push({ start, end: to });
    left -= to - start;
  }
  return taken;
}

/** The ranges without their first ones. */
function subtract(ranges: readonly Range[], first: readonly Range[]): Range[] {
  const end = first.at(-1)?.end ?? 0;
  return ranges
    .filter((range) => range.end > end)
    .map((range) => ({ start: Math.max(range.start, end), end: range.end }));
}
