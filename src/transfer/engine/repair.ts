import { Fault } from '../../fault/fault.ts';
import type { PieceContext } from './deliver.ts';
import type { Range, Segments } from './segments.ts';

type Repaired = Pick<PieceContext, 'segments' | 'sink' | 'shownUrl'>;

interface Means {
  /** Hosts that are asked only when there is nobody else. */
  suspects: Set<string>;
  /** Who took part so far. */
  servers(): readonly { server: string }[];
  /** Somebody is suspected from now on. */
  accused(server: string, fault: Fault): void;
  /** Fetches what is missing. */
  run(): Promise<void>;
  /** Everything is missing again: false where that cannot be. */
  restart(): Promise<boolean>;
  /** The size that the object has by those who know; nothing else counts from now on. */
  agreedSize(here: number): Promise<number>;
}

/** Finds the bytes that make the whole wrong, where nothing but the whole can be proven. */
export class Repair {
  readonly #transfer: Repaired;
  readonly #means: Means;
  readonly #accused = new Set<string>();
  #doubts: Doubts | undefined;

  constructor(transfer: Repaired, means: Means) {
    this.#transfer = transfer;
    this.#means = means;
  }

  /** Fetches again until some byte is another one; throws the Fault where all of it came, and from the start, too. */
  async run(fault: Fault): Promise<void> {
    // Others sent the same, and there is nobody else: what the bytes are held against is wrong.
    const isHopeless = this.#doubts === undefined && !this.#accuse(fault);
    const doubts = (this.#doubts ??= new Doubts(this.#transfer.segments));
    if (!isHopeless && (await this.#replace(doubts))) return;
    this.#doubts = undefined;
    if (!isHopeless && doubts.guilty.length === 0 && this.#transfer.sink.rewrite !== undefined)
      await this.run(fault);
    else if (isHopeless || !(await this.#means.restart())) throw fault;
    else await this.#means.run();
  }

  /** Nothing proves the bytes: true if some came again, taken back by their servers or of another size than it has. */
  async fetchDoubtful(): Promise<boolean> {
    const { segments } = this.#transfer;
    if (!segments.dropDoubted()) {
      const size = await this.#means.agreedSize(segments.size);
      if (size === segments.size) return false;
      const about = this.#transfer.shownUrl;
      const what = `${about}: ${segments.size} bytes came, should be ${size}`;
      if (!(await this.#means.restart())) throw new Fault('object-changed', what, { about });
    }
    await this.#means.run();
    return true;
  }

  /** The bytes are proven: of those suspected for a while, only who sent wrong ones stays so. */
  acquit(): void {
    const guilty = this.#doubts?.guilty ?? [];
    if (guilty.length === 0) return;
    for (const server of this.#accused) if (!guilty.includes(server)) this.#means.suspects.delete(server);
  }

  /** True once something that came again was different, or all of it came anew. */
  async #replace(doubts: Doubts): Promise<boolean> {
    const { sink, segments } = this.#transfer;
    const wasReplaced = sink.rewrite?.();
    if (wasReplaced === undefined) return false;
    for (let next = doubts.next(); next !== undefined; next = doubts.next()) {
      for (const range of next.ranges) segments.putBack(range, next.server);
      await this.#means.run();
      if (this.#transfer.segments !== segments) {
        // The origin has another version than all caches, and all of it came anew.
        this.#doubts = undefined;
        return true;
      }
      if (!wasReplaced()) continue;
      next.differs();
      return true;
    }
    return false;
  }

  /** Suspects whoever took part: true if some of them were not suspected before. */
  #accuse(fault: Fault): boolean {
    const { suspects } = this.#means;
    const added = this.#means.servers().filter(({ server }) => !suspects.has(server));
    for (const { server } of added) {
      suspects.add(server);
      this.#accused.add(server);
      this.#means.accused(server, fault);
    }
    return added.length > 0;
  }
}

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
class Doubts {
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
