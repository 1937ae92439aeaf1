import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../fault/fault.ts';
import type { Lane } from './lane.ts';
import type { Source } from './roster.ts';
import type { Piece } from './segments.ts';
import { Setback } from './setback.ts';
import type { Judgement, Watched } from './watchdog.ts';

/** A lane silent for so long is free to be taken over. */
const silentMs = 1_000;
/** Watched less often than this: something held up the event loop. */
const standstillMs = 2_000;
const stopped = new Error('stopped');

/** The lanes open now. */
export class Lanes {
  readonly #clock: Clock;
  readonly #open = new Map<Lane, Promise<void>>();
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

  /** Opens a lane; `closed` is told how it ended, but not if it was stopped from here. */
  start(
    source: Source,
    piece: Piece,
    run: (lane: Lane) => Promise<void>,
    closed: (error?: Error) => void,
  ): void {
    const now = this.#clock.monotonic();
    const controller = new AbortController();
    const lane = { piece, source, controller, startedAt: now, movedAt: now, waitsForSink: false };
    source.busy = true;
    const close = (error?: Error) => {
      source.busy = false;
      this.#open.delete(lane);
      closed(error === stopped ? undefined : error);
    };
    this.#open.set(
      lane,
      run(lane).then(() => close(), close),
    );
  }

  /** Judges each lane that its sink does not hold up, and ends those that are stalled or not worth their place. */
  watch(judge: (watched: Watched, lane: Lane) => Judgement): { slow: boolean } {
    const now = this.#clock.monotonic();
    this.#excuse(now);
    let slow = false;
    for (const lane of this.#open.keys()) {
      if (lane.waitsForSink || lane.controller.signal.aborted) continue;
      const { piece, source } = lane;
      const watched = {
        quietMs: now - lane.movedAt,
        runningMs: now - lane.startedAt,
        rate: source.meter.rate(now),
      };
      const judgement = judge(watched, lane);
      slow ||= judgement === 'slow';
      if (judgement === 'drop') end(lane, `sends ${Math.round(watched.rate)} bytes/s, others far more`);
      if (judgement === 'stalled') {
        const got = piece.position - piece.start;
        end(lane, `sent ${got} bytes, then nothing for ${(watched.quietMs / 1000).toFixed(1)} s`);
      }
    }
    return { slow };
  }

  /** Ends lanes whose piece was taken over to its last byte. */
  endEmpty(): void {
    for (const lane of this.#open.keys())
      if (lane.piece.position >= lane.piece.end && (untouched(lane) || this.#silent(lane)))
        end(lane, 'fell silent, another server took over');
  }

  /**
   * Bytes per second of the lane that works on `piece`: 0 if it is silent, undefined if it has just begun. For a
   * `helper` that could take over part of it, a server that failed the last time counts for less than one that did
   * not: it takes nothing from one that may deliver, and does not keep what it has sent nothing of.
   */
  rateOf(piece: Piece, helper?: Source): number | undefined {
    const lane = [...this.#open.keys()].find((each) => each.piece === piece);
    if (lane === undefined || this.#silent(lane)) return 0;
    if (helper !== undefined && failedBefore(helper)) return undefined;
    if (untouched(lane)) return helper !== undefined && failedBefore(lane.source) ? 0 : undefined;
    return lane.source.meter.rate(this.#clock.monotonic());
  }

  /** Best rate of the other lanes. */
  bestBeside(lane: Lane): number {
    return [...this.#open.keys()].reduce(
      (best, each) => (each === lane ? best : Math.max(best, this.rateOf(each.piece) ?? 0)),
      0,
    );
  }

  get waitForSink(): boolean {
    return [...this.#open.keys()].some(({ waitsForSink }) => waitsForSink);
  }

  /** Ends all lanes and waits for them. */
  async stop(): Promise<void> {
    for (const { controller } of this.#open.keys()) controller.abort(stopped);
    await Promise.all(this.#open.values());
  }

  /** Time in which this process itself stood still, say in a write to a slow disk, is nobody's silence. */
  #excuse(now: number): void {
    const stoodStill = now - this.#watchedAt;
    if (stoodStill > standstillMs)
      for (const lane of this.#open.keys()) lane.movedAt = Math.min(now, lane.movedAt + stoodStill);
    this.#watchedAt = now;
  }

  #silent(lane: Lane): boolean {
    return !lane.waitsForSink && this.#clock.monotonic() - lane.movedAt > silentMs;
  }
}

const untouched = ({ piece }: Lane): boolean => piece.position === piece.start;
const failedBefore = ({ breaker }: Source): boolean => breaker.failures > 0;

function end({ controller, source }: Lane, what: string): void {
  const { host } = source.server;
  controller.abort(new Setback('broken', new Fault('transfer-stalled', `${host}: ${what}`, { about: host })));
}
