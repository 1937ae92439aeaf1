import { defined } from '@updraft/base';
import { Fault, type FaultKind } from '../../fault.ts';
import type { Located, ObjectServer } from '../../federation/located.ts';
import type { TransferLimits } from '../limits.ts';
import type { Identity, Setback } from './check-response.ts';
import type { FetchRecord, Turn } from './turn.ts';

/** A server of the object and what we know about it. */
export interface Source {
  readonly server: ObjectServer;
  readonly located: Located;
  breaker: Breaker;
  /** Failed tries since any server last made progress. */
  tries: number;
  last: Setback | undefined;
  /** What its last answer said about the object. */
  said: Identity | undefined;
  /** It said that it does not have the object, or that we may not have it. */
  dead: boolean;
  /** It has another version than the one being fetched. */
  disagrees: boolean;
  noRanges: boolean;
  /** A cache that had no copy of the object when it was asked for one. */
  cold: boolean;
  /** How often it sent everything requested and then withdrew it. */
  withdrawals: number;
  bytes: number;
  turn: Turn;
  readonly meter: RateMeter;
  /** From the last request to its answer, or an estimate. */
  answerSeconds: number;
  busy: boolean;
}

/** Waits between requests to a cache that is still getting the object from its origin. */
const fillBackoffMs = [1_000, 2_000, 4_000, 8_000, 15_000, 15_000];

/** Interval between checks for a new token. */
const tokenPollMs = 1_000;
const defaultAnswerSeconds = 0.1;
/** A server with a copy may fail this often before one without is asked to fetch it. */
const coldRank = 2;
const maxWithdrawals = 2;

/** The servers of one object, in the order to try them. */
export class Roster {
  readonly sources: Source[] = [];
  /** Hosts that sent wrong bytes: asked only when there is no other. */
  readonly #suspects: ReadonlySet<string>;
  #preferred: Source | undefined;
  /** Passes over all servers without progress. */
  passes = 0;

  constructor(suspects: ReadonlySet<string> = new Set()) {
    this.#suspects = suspects;
  }

  /** Adds servers that are not yet known; an origin that is found after caches have failed comes first. */
  add(located: Located, now: number): void {
    const isLate = this.sources.length > 0;
    for (const server of located.servers) {
      if (this.sources.some((source) => source.server.url === server.url)) continue;
      const at = isLate && server.kind === 'origin' ? 0 : this.sources.length;
      this.sources.splice(at, 0, {
        server,
        located,
        breaker: closedBreaker,
        tries: 0,
        last: undefined,
        said: undefined,
        dead: false,
        disagrees: false,
        noRanges: false,
        cold: false,
        withdrawals: 0,
        bytes: 0,
        turn: { bytes: 0, seconds: 0 },
        meter: new RateMeter(now),
        answerSeconds: defaultAnswerSeconds,
        busy: false,
      });
    }
  }

  /** Which servers sent what, and which were not asked. */
  get record(): FetchRecord {
    const named = ({ server: { host, preferredBy }, turn: { age } }: Source, bytes: number) => ({
      server: host,
      bytes,
      ...defined({ preferredBy }),
      ...(age !== undefined && { [age > 0 ? 'warmBytes' : 'coldBytes']: bytes }),
    });
    const sending = this.sources.filter(({ turn }) => turn.bytes > 0);
    // For an empty object the server that answered sends no bytes.
    const working =
      sending.length > 0 ? sending : this.sources.filter(({ turn }) => turn.seconds > 0).slice(0, 1);
    const leftOut = this.sources.flatMap(({ located }) => located.leftOut ?? []);
    return {
      servers: this.sources.filter(({ bytes }) => bytes > 0).map((source) => named(source, source.bytes)),
      turns: working.map((source) => ({ ...source.turn, ...named(source, source.turn.bytes) })),
      ...(leftOut.length > 0 && { leftOut: [...new Map(leftOut.map((one) => [one.server, one])).values()] }),
    };
  }

  /** What a server did until it failed; ends its turn. */
  endTurn(host: string): { turn?: Turn } {
    const source = this.sources.find(({ server }) => server.host === host);
    const turn = source?.turn;
    if (source !== undefined) source.turn = { bytes: 0, seconds: 0 };
    return defined({ turn });
  }

  /** The user allows only the preferred caches, which excludes the origin too. */
  get isExclusive(): boolean {
    return exclusiveTo(this.sources) !== undefined;
  }

  /** Servers that may be asked now, best first. */
  candidates(now: number): Source[] {
    const stays = this.#preferred;
    if (stays !== undefined) return !stays.dead && !stays.disagrees && ready(stays, now) ? [stays] : [];
    const rank = ({ noRanges, cold, breaker }: Source) =>
      (noRanges ? 1000 : 0) + (cold ? coldRank : 0) + breaker.failures;
    return this.#usable.filter((source) => ready(source, now)).sort((a, b) => rank(a) - rank(b));
  }

  /** The server whose backoff ends first, if any can be asked again. */
  nextUp(): Source | undefined {
    const resting = this.#preferred === undefined ? this.#usable : [this.#preferred];
    return resting.filter(({ busy }) => !busy).sort((a, b) => a.breaker.openUntil - b.breaker.openUntil)[0];
  }

  /** When that backoff ends. */
  nextAt(): number | undefined {
    return this.nextUp()?.breaker.openUntil;
  }

  /** Lets caches that answered "no such object" be asked again, and the origin too if it lists the object. */
  revive(isListed: boolean): void {
    for (const source of this.sources)
      if ((source.server.kind === 'cache' || isListed) && source.last?.kind === 'missing')
        source.dead = false;
  }

  /** Every server that could be asked has failed once more since the last progress. */
  get isPassDone(): boolean {
    return this.#preferred === undefined && this.#usable.every(({ tries }) => tries > this.passes);
  }

  /** Whether another pass may help; fewer are allowed if no server could ever be reached. */
  hasPassesLeft({
    maxPasses,
    maxUnreachedPasses,
  }: Pick<TransferLimits, 'maxPasses' | 'maxUnreachedPasses'>): boolean {
    const isUnreached = ({ bytes, last }: Source) =>
      bytes === 0 && last?.fault.kind === 'servers-unreachable';
    return (
      this.nextAt() !== undefined &&
      this.passes < (this.sources.every(isUnreached) ? maxUnreachedPasses : maxPasses)
    );
  }

  /** No server is in backoff: all that could be asked are free now. */
  allFree(now: number): boolean {
    return this.#preferred === undefined && this.#usable.every((source) => ready(source, now));
  }

  nextPass(): void {
    this.passes++;
  }

  progressed(source: Source): void {
    for (const each of this.sources) each.tries = 0;
    this.passes = 0;
    source.breaker = closedBreaker;
    if (this.#preferred === source) this.#preferred = undefined;
  }

  failed(source: Source, setback: Setback, now: number): void {
    if (setback.kind === 'cold') {
      source.cold = true;
      return;
    }
    source.last = setback;
    source.tries++;
    // A server that has delivered before may do so again: objects are evicted and come back.
    source.dead ||= setback.kind === 'missing' && source.bytes === 0;
    // A token that worked on another server will be renewed.
    source.dead ||= setback.kind === 'refused' && this.sources.every(({ bytes }) => bytes === 0);
    // Withdrawn bytes look like progress: without a limit this would never end.
    if (setback.kind === 'withdrawn') source.dead ||= ++source.withdrawals >= maxWithdrawals;
    source.disagrees ||= setback.kind === 'changed';
    source.noRanges ||= setback.kind === 'no-ranges';
    const backoff = setback.kind === 'filling' ? fillBackoffMs[source.tries - 1] : undefined;
    if (backoff !== undefined) this.#preferred = source;
    else if (this.#preferred === source) this.#preferred = undefined;
    const askedMs = backoff ?? (setback.fault.retryAfterSeconds ?? 0) * 1000;
    source.breaker = tripped(source.breaker, now, askedMs);
  }

  /** No server can be asked until there is a new token, and none is to blame for that. */
  waitForToken(now: number): void {
    for (const source of this.sources)
      source.breaker = {
        ...source.breaker,
        openUntil: Math.max(source.breaker.openUntil, now + tokenPollMs),
      };
  }

  /** Whether only servers that sent wrong bytes are left, or others that fail. */
  get allSuspect(): boolean {
    const isSuspect = ({ server }: Source) => this.#suspects.has(server.host);
    return (
      this.sources.some(isSuspect) &&
      this.sources.every((each) => isSuspect(each) || each.breaker.failures > 0)
    );
  }

  /** Other servers that may know the object: first those at work, then an origin. */
  othersThan(host: string): Source[] {
    const rank = ({ turn, server }: Source) => (turn.bytes > 0 ? 2 : 0) + (server.kind === 'origin' ? 1 : 0);
    return this.sources
      .filter(({ server, dead }) => server.host !== host && !dead)
      .sort((one, other) => rank(other) - rank(one));
  }

  /** Whether any server has the version that is being fetched. */
  get hasOthers(): boolean {
    return this.sources.some(({ dead, disagrees }) => !dead && !disagrees);
  }

  /** Whether only the servers at work can send ranges. */
  onlySenders(atWork: readonly string[]): boolean {
    return this.sources.every(
      ({ server, noRanges, dead }) => noRanges || dead || atWork.includes(server.host),
    );
  }

  /** Whether this is the origin and all others sent wrong bytes. */
  isOnlyTrusted({ server }: Source): boolean {
    const others = this.sources.filter((source) => source.server !== server);
    return server.kind === 'origin' && others.every((other) => this.#suspects.has(other.server.host));
  }

  get #usable(): Source[] {
    const all = this.sources.filter((source) => !source.dead && !source.disagrees);
    const good = all.filter(({ server }) => !this.#suspects.has(server.host));
    // Servers that failed twice are no better than those that sent wrong bytes.
    return good.some(({ breaker }) => breaker.failures < 2) ? good : all;
  }

  /**
   * The object is fetched again from its first byte: servers with another version than the `first` server's may be
   * right, and lose their place to it no more, but it to them.
   */
  restart(first?: string): void {
    this.passes = 0;
    const isFirst = ({ server }: Source) => server.host === first;
    const areOthers = this.sources.some((each) => each.disagrees && !each.dead && !isFirst(each));
    for (const source of this.sources) {
      source.tries = 0;
      if (source.disagrees) source.breaker = closedBreaker;
      source.disagrees = areOthers && (isFirst(source) || (!source.disagrees && source.said !== undefined));
    }
  }
}

const ready = ({ busy, breaker }: Source, now: number): boolean => !busy && breaker.openUntil <= now;

/** Circuit breaker of one server: after a failure it backs off, longer each time, then one try decides. */
export interface Breaker {
  failures: number;
  /** It is not asked before this time on the monotonic clock, in milliseconds. */
  openUntil: number;
}

export const closedBreaker: Breaker = { failures: 0, openUntil: 0 };

const initialBackoffMs = 500;
const maxBackoffMs = 60_000;

/** Called after a failed try; a server may ask for a longer backoff than it would get. */
export function tripped(breaker: Breaker, now: number, askedMs = 0): Breaker {
  const failures = breaker.failures + 1;
  const backoffMs = Math.min(maxBackoffMs, initialBackoffMs * 2 ** (failures - 1));
  return { failures, openUntil: now + Math.max(backoffMs, askedMs) };
}

const slotMs = 250;
const slots = 16;

/** Bytes per second over the last four seconds, in constant memory. */
export class RateMeter {
  readonly #bytes = new Float64Array(slots);
  #slot: number;
  readonly #started: number;

  constructor(now: number) {
    this.#slot = Math.floor(now / slotMs);
    this.#started = now;
  }

  add(bytes: number, now: number): void {
    this.#moveTo(now);
    const at = this.#slot % slots;
    this.#bytes[at] = (this.#bytes[at] ?? 0) + bytes;
  }

  rate(now: number): number {
    this.#moveTo(now);
    const covered = Math.min(now - this.#started, (slots - 1) * slotMs + (now % slotMs));
    if (covered <= 0) return 0;
    return (this.#bytes.reduce((sum, bytes) => sum + bytes, 0) * 1000) / Math.max(covered, 10);
  }

  #moveTo(now: number): void {
    const slot = Math.floor(now / slotMs);
    for (let passed = Math.max(this.#slot + 1, slot - slots + 1); passed <= slot; passed++)
      this.#bytes[passed % slots] = 0;
    this.#slot = Math.max(this.#slot, slot);
  }
}

/** Ordered from the most to the least informative about the object. */
const byInformation: FaultKind[] = [
  'data-corrupt',
  'object-changed',
  'data-wrong',
  'transfer-stalled',
  'transfer-failed',
  'token-expired',
  'token-refused',
  'token-missing',
  'servers-unreachable',
  'object-missing',
];

const isCache = ({ server }: Source): boolean => server.kind === 'cache';

/** The Fault that best explains why no server could deliver, with what each of them did. */
export function clearestFault(
  url: string,
  sources: readonly Source[],
  progress: string,
  isMissing = false,
): Fault {
  const setbacks = sources.flatMap(({ last }) => (last === undefined ? [] : [last]));
  const [first] = setbacks
    .map(({ fault }) => fault)
    .sort((a, b) => byInformation.indexOf(a.kind) - byInformation.indexOf(b.kind));
  if (first === undefined)
    return new Fault('servers-unreachable', `${url}: the director named no server for it`);
  const all = [...new Set(setbacks.map(({ fault }) => fault.message))].join('; ');
  const waits = setbacks.flatMap(({ fault }) => fault.retryAfterSeconds ?? []);
  const isSaidByCaches = first.kind === 'object-missing' && !isMissing && sources.every(isCache);
  const kind = isSaidByCaches ? 'servers-unreachable' : first.kind;
  const doubt = isSaidByCaches ? '; the origin, which knows, could not be asked' : '';
  return new Fault(kind, `${url}: ${progress}: ${all}${doubt}`, {
    about: url,
    cause: first,
    fix: first.fix ?? exclusiveFix(sources),
    retryAfterSeconds: waits.length === 0 ? undefined : Math.min(...waits),
  });
}

const exclusiveTo = (sources: readonly Source[]): string | undefined =>
  sources.find(({ located }) => located.onlyBy !== undefined)?.located.onlyBy;

function exclusiveFix(sources: readonly Source[]): string | undefined {
  const by = exclusiveTo(sources);
  return by === undefined
    ? undefined
    : `only the caches of ${by} were asked: end the list with "+" to let the others follow`;
}
