import type { Clock } from '../../base/clock.ts';
import { askCopy } from '../../federation/cached-copy.ts';
import type { ConnectionPool } from '../../http/connections.ts';
import type { Policy } from '../policy.ts';
import type { Sink } from '../sinks/sink.ts';
import type { Identity } from './check-answer.ts';
import type { Lane, Lanes } from './lanes.ts';
import type { Roster, Source } from './roster.ts';
import { mayWiden, pieceBytes, type Piece, type Segments } from './segments.ts';

/** The transfer that the work is for. */
interface Floor {
  readonly clock: Clock;
  readonly policy: Policy;
  readonly sink: Sink;
  readonly segments: Segments;
  readonly known: Identity;
  readonly pool: ConnectionPool;
}

/** A cache that has been fetching the object for so long and will take so much longer: others may have it. */
const longSoFarMs = 5_000;
const longSeconds = 120;

/**
 * Decides how many servers work on the object at once, and who gets which piece. One begins, with all that is missing.
 * Others are asked when its answer shows that it has a copy, and then only for their own copies: a cache without one
 * would fetch the object from the origin once more. Beside one that is slow anybody is asked, and
 * beside one that is fetching the object and will be for long, those that say they have it.
 */
export class Assignment {
  readonly #floor: Floor;
  readonly #roster: Roster;
  readonly #lanes: Lanes;
  #hot = false;
  #width = 1;
  #askedCopies = false;

  constructor(floor: Floor, roster: Roster, lanes: Lanes) {
    this.#floor = floor;
    this.#roster = roster;
    this.#lanes = lanes;
  }

  /** The first good answer: its age says whether the server has a copy, or is fetching the object now. */
  found({ server }: Source, age: number | undefined): void {
    this.#hot = server.kind !== 'cache' || (age ?? 0) > 0;
  }

  /** May others be asked by now? True if so. */
  consider(lane: Lane, rate: number): boolean {
    if (this.#width > 1) return false;
    if (!this.#hot) {
      if (this.#isLong(lane, rate)) void this.#askCopies(lane);
      return false;
    }
    const sent = lane.piece.position - lane.piece.start;
    return mayWiden({ sent, missing: this.#floor.segments.missingBytes, rate }) && this.#widen();
  }

  #isLong({ source, startedAt }: Lane, rate: number): boolean {
    const { clock, segments, known } = this.#floor;
    if (this.#askedCopies || source.server.kind !== 'cache' || known.size === undefined) return false;
    const isLong = segments.missingBytes / Math.max(1, rate) > longSeconds;
    return isLong && clock.monotonic() - startedAt > longSoFarMs;
  }

  /** Once, and at no cost to the origin. */
  async #askCopies({ source, controller: { signal } }: Lane): Promise<void> {
    this.#askedCopies = true;
    const how = { federation: { wire: this.#floor.pool }, signal };
    const others = this.#roster.sources.filter((each) => each !== source && each.server.kind === 'cache');
    const holding = others.map(async (each) => {
      const copy = await askCopy(each.located, each.server, how).catch(() => undefined);
      each.cold = copy?.holds !== 'whole';
      return !each.cold;
    });
    if ((await Promise.all(holding)).includes(true) && !signal.aborted) this.#hot = this.#widen();
  }

  /** Some server is slow: true if others are asked from now on. */
  helpSlow(): boolean {
    this.#hot = false;
    return this.#widen();
  }

  /** Nobody can send parts: one sends all that is left. */
  narrow(): void {
    this.#hot = false;
    this.#width = 1;
    this.#floor.segments.unshare();
  }

  /** The object is fetched from its first byte again. */
  restart(): void {
    this.#hot = this.#askedCopies = false;
    this.#width = 1;
  }

  /** Pieces for free servers, as long as fewer than `width` are at work; each is to be started before the next is taken. */
  *next(): Generator<Pick<Lane, 'source' | 'piece' | 'helps'>> {
    for (const source of this.#roster.candidates(this.#floor.clock.monotonic())) {
      if (this.#lanes.size >= this.#width) return;
      const helps = this.#hot && this.#lanes.size > 0 && source.server.kind === 'cache';
      if (helps && source.cold) continue;
      const piece = this.#pieceFor(source);
      if (piece !== undefined) yield { source, piece, helps };
    }
  }

  #widen(): boolean {
    const { policy, sink, segments, known } = this.#floor;
    const width = Math.min(policy.maxServers, this.#roster.sources.length);
    // Without a size, a second server would be asked for bytes that may lie behind the end.
    if (this.#width > 1 || width === 1 || known.size === undefined) return false;
    this.#width = width;
    // To cut an answer off costs what is on its way: the first server keeps its share of the rest.
    const share = Math.max(pieceBytes(0), segments.missingBytes / width);
    segments.share(Math.min(sink.largestPiece, share), sink.grain);
    return true;
  }

  #pieceFor(source: Source): Piece | undefined {
    const { segments, clock } = this.#floor;
    const { grain, before, largestPiece } = this.#floor.sink;
    const server = source.server.host;
    // Alone, one server sends all that is missing in one answer; it begins at the first missing byte.
    if (this.#width === 1) return segments.claim({ server, limit: Infinity, before: Infinity, grain });
    const rate = source.meter.rate(clock.monotonic());
    const want = { server, limit: Math.min(largestPiece, pieceBytes(rate)), before, grain };
    const thief = { rate, answerSeconds: source.answerSeconds };
    const piece =
      segments.claim(want) ?? segments.steal(want, thief, (each) => this.#lanes.rateOf(each, source));
    this.#lanes.endEmpty();
    return piece;
  }
}
