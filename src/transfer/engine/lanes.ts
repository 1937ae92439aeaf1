import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../fault/fault.ts';
import { stallSeconds, type Policy } from '../policy.ts';
import type { Source } from './roster.ts';
import type { Piece } from './segments.ts';
import { Setback } from './setback.ts';

/** One server at work on one piece. */
export interface Lane {
  readonly piece: Piece;
  readonly source: Source;
  readonly controller: AbortController;
  readonly startedAt: number;
  /** Another server delivers already: this one is asked only for what it has, and must not fetch it first. */
  readonly helps: boolean;
  /** When its last byte reached the sink, or the sink was ready for more. */
  movedAt: number;
  /** The sink is not done with the last bytes: the server cannot be blamed for the silence. */
  waitsForSink: boolean;
}

/** A lane silent for this long is free to be taken over. */
const silentMs = 1_000;
/** All its bytes are there: its end is waited for no longer than this. */
const lingerMs = 2_000;
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

  /** Opens a lane; `closed` gets its error, but not if it was stopped from here. */
  start(
    work: Pick<Lane, 'source' | 'piece' | 'helps'>,
    run: (lane: Lane) => Promise<void>,
    closed: (error?: Error) => void,
  ): void {
    const now = this.#clock.monotonic();
    const controller = new AbortController();
    const lane = { ...work, controller, startedAt: now, movedAt: now, waitsForSink: false };
    const { source } = work;
    source.busy = true;
    const close = (error?: Error) => {
      source.busy = false;
      source.turn.seconds += (this.#clock.monotonic() - lane.startedAt) / 1000;
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
      if (piece.position >= piece.end && watched.quietMs > lingerMs) {
        lane.controller.abort(stopped);
        continue;
      }
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

/** One running piece as the watchdog sees it. */
export interface Watched {
  /** Milliseconds since its last byte reached the sink; time the sink made it wait does not count. */
  quietMs: number;
  runningMs: number;
  /** Bytes per second over the last seconds. */
  rate: number;
}

export interface Surroundings {
  /** Best rate of the other servers that deliver now; 0 if none does. */
  bestOther: number;
  /** Some server could be asked instead. */
  alternative: boolean;
  size: number;
  missingBytes: number;
  /** Milliseconds left of the time the user will pay, if that is bounded. */
  leftMs: number | undefined;
}

/** `slow`: worth asking another server too; `drop`: another server does its work better; `stalled`: give it up. */
export type Judgement = 'fine' | 'slow' | 'drop' | 'stalled';

/** Before this a rate says more about the connection's start than about the server. */
const rampMs = 5_000;
/** With this share of what another server gives, a slow one still helps. */
const helpfulShare = 1 / 16;
/** An object should not take longer than this unless the user says so. */
const patienceSeconds = 6 * 3600;

/** Judges one running piece. Pure: the clock's readings come in. */
export function judge(watched: Watched, around: Surroundings, policy: Policy): Judgement {
  if (watched.quietMs >= stallSeconds(policy, around.bestOther > 0) * 1000) return 'stalled';
  if (watched.runningMs < Math.min(rampMs, policy.stallSeconds * 1000)) return 'fine';
  if (watched.rate >= speedFloor(around, policy)) return 'fine';
  if (!around.alternative) return 'fine';
  return watched.rate < around.bestOther * helpfulShare ? 'drop' : 'slow';
}

/** Bytes per second below which a server is too slow for this object. */
export function speedFloor(around: Surroundings, policy: Policy): number {
  const size = Number.isFinite(around.size) ? around.size : 0;
  const bySize = size / patienceSeconds;
  const byBudget = around.leftMs === undefined ? 0 : around.missingBytes / Math.max(1, around.leftMs / 1000);
  return Math.max(policy.floorBytesPerSecond, bySize, byBudget, around.bestOther * helpfulShare);
}
