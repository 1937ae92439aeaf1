import { defined } from '../../base/defined.ts';
import { Fault } from '../../fault/fault.ts';
import type { FaultKind } from '../../fault/kinds.ts';
import type { Located, ObjectServer } from '../../federation/located.ts';
import type { TransferLimits } from '../limits.ts';
import type { Setback } from './setback.ts';
import type { FetchRecord, Turn } from './turn.ts';

/** A server of the object and what we know about it. */
export interface Source {
  readonly server: ObjectServer;
  readonly located: Located;
  breaker: Breaker;
  /** Failed tries since any server last made progress. */
  tries: number;
  last: Setback | undefined;
  /** It said that it does not have the object, or that we may not have it. */
  dead: boolean;
  /** It has another version than the one being fetched. */
  disagrees: boolean;
  noRanges: boolean;
  /** A cache that had no copy of the object when it was asked for one. */
  cold: boolean;
  /** How often it sent everything it was asked for, and then took it back. */
  withdrawals: number;
  bytes: number;
  turn: Turn;
  readonly meter: RateMeter;
  /** From the last question to its answer, or a guess. */
  answerSeconds: number;
  busy: boolean;
}

/** Waits between questions to a cache that is still getting the object from its origin. */
const fillBackoffMs = [1_000, 2_000, 4_000, 8_000, 15_000, 15_000];

/** Between two looks for a new token. */
const tokenPollMs = 1_000;
const defaultAnswerSeconds = 0.1;
/** One with a copy may fail this often before one without is asked to fetch it. */
const coldRank = 2;
const maxWithdrawals = 2;

/** The servers of one object, in the order to try them. */
export class Roster {
  readonly sources: Source[] = [];
  /** Hosts whose bytes were proven wrong: asked only when there is nobody else. */
  readonly #suspects: ReadonlySet<string>;
  #preferred: Source | undefined;
  #passes = 0;

  constructor(suspects: ReadonlySet<string> = new Set()) {
    this.#suspects = suspects;
  }

  /** Adds the servers that are not known yet; an origin that is found when caches have failed comes before them. */
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

  /** Who sent what, and who was not asked. */
  get record(): FetchRecord {
    const named = ({ server: { host, preferredBy } }: Source, bytes: number) => ({
      server: host,
      bytes,
      ...defined({ preferredBy }),
    });
    const sending = this.sources.filter(({ turn }) => turn.bytes > 0);
    // Whoever answers for an empty object sends nothing.
    const working =
      sending.length > 0 ? sending : this.sources.filter(({ turn }) => turn.seconds > 0).slice(0, 1);
    const leftOut = this.sources.flatMap(({ located }) => located.leftOut ?? []);
    return {
      servers: this.sources.filter(({ bytes }) => bytes > 0).map((source) => named(source, source.bytes)),
      turns: working.map((source) => ({ ...source.turn, ...named(source, source.turn.bytes) })),
      ...(leftOut.length > 0 && { leftOut: [...new Map(leftOut.map((one) => [one.server, one])).values()] }),
    };
  }

  /** What a server did until it failed; from now on it has another turn. */
  endTurn(host: string): { turn?: Turn } {
    const source = this.sources.find(({ server }) => server.host === host);
    const turn = source?.turn;
    if (source !== undefined) source.turn = { bytes: 0, seconds: 0 };
    return defined({ turn });
  }

  /** Somebody wants nobody asked but the caches they prefer: not the origin, either. */
  get isExclusive(): boolean {
    return exclusiveTo(this.sources) !== undefined;
  }

  /** Laps over all servers without progress. */
  get passes(): number {
    return this.#passes;
  }

  /** Servers that may be asked now, best first. */
  candidates(now: number): Source[] {
    const stays = this.#preferred;
    if (stays !== undefined) return !stays.dead && !stays.disagrees && ready(stays, now) ? [stays] : [];
    const rank = ({ noRanges, cold, breaker }: Source) =>
      (noRanges ? 1000 : 0) + (cold ? coldRank : 0) + breaker.failures;
    return this.#usable.filter((source) => ready(source, now)).sort((a, b) => rank(a) - rank(b));
  }

  /** The server whose rest ends first, if any can be asked again. */
  nextUp(): Source | undefined {
    const resting = this.#preferred === undefined ? this.#usable : [this.#preferred];
    return resting.filter(({ busy }) => !busy).sort((a, b) => a.breaker.openUntil - b.breaker.openUntil)[0];
  }

  /** When that is. */
  nextAt(): number | undefined {
    return this.nextUp()?.breaker.openUntil;
  }

  /** Caches that said they have no such object may be asked again: only the origin knows; if it lists it, itself too. */
  revive(isListed: boolean): void {
    for (const source of this.sources)
      if ((source.server.kind === 'cache' || isListed) && source.last?.kind === 'missing')
        source.dead = false;
  }

  /** Every server that could be asked has failed once more since the last progress. */
  get isPassDone(): boolean {
    return this.#preferred === undefined && this.#usable.every(({ tries }) => tries > this.#passes);
  }

  /** Whether another lap may bring something; patience is less where no server could ever be asked. */
  hasPassesLeft({
    maxPasses,
    maxUnreachedPasses,
  }: Pick<TransferLimits, 'maxPasses' | 'maxUnreachedPasses'>): boolean {
    const isUnreached = ({ bytes, last }: Source) =>
      bytes === 0 && last?.fault.kind === 'servers-unreachable';
    return (
      this.nextAt() !== undefined &&
      this.#passes < (this.sources.every(isUnreached) ? maxUnreachedPasses : maxPasses)
    );
  }

  /** No server rests: whoever could be asked is free now. */
  allFree(now: number): boolean {
    return this.#preferred === undefined && this.#usable.every((source) => ready(source, now));
  }

  nextPass(): void {
    this.#passes++;
  }

  progressed(source: Source): void {
    for (const each of this.sources) each.tries = 0;
    this.#passes = 0;
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
    // One that has delivered before may do so again: objects are evicted and come back.
    source.dead ||= setback.kind === 'missing' && source.bytes === 0;
    // A token that was good enough for somebody will be renewed.
    source.dead ||= setback.kind === 'refused' && this.sources.every(({ bytes }) => bytes === 0);
    // Bytes that are taken back look like progress: without a limit it would go on for ever.
    if (setback.kind === 'withdrawn') source.dead ||= ++source.withdrawals >= maxWithdrawals;
    source.disagrees ||= setback.kind === 'changed';
    source.noRanges ||= setback.kind === 'no-ranges';
    const backoff = setback.kind === 'filling' ? fillBackoffMs[source.tries - 1] : undefined;
    this.#preferred = backoff === undefined ? undefined : source;
    const askedMs = backoff ?? (setback.fault.retryAfterSeconds ?? 0) * 1000;
    source.breaker = tripped(source.breaker, now, askedMs);
  }

  /** Nobody can be asked until there is a new token, and nobody is to blame for it. */
  waitForToken(now: number): void {
    for (const source of this.sources)
      source.breaker = {
        ...source.breaker,
        openUntil: Math.max(source.breaker.openUntil, now + tokenPollMs),
      };
  }

  /** Whether nobody is left but those whose bytes were proven wrong. */
  get allSuspect(): boolean {
    return this.sources.length > 0 && this.sources.every(({ server }) => this.#suspects.has(server.host));
  }

  /** Others that may know the object: first those at work, then an origin. */
  beside(host: string): Source[] {
    const rank = ({ turn, server }: Source) => (turn.bytes > 0 ? 2 : 0) + (server.kind === 'origin' ? 1 : 0);
    return this.sources
      .filter(({ server, dead }) => server.host !== host && !dead)
      .sort((one, other) => rank(other) - rank(one));
  }

  /** Whether anybody has the version that is being fetched. */
  get hasOthers(): boolean {
    return this.sources.some(({ dead, disagrees }) => !dead && !disagrees);
  }

  /** Whether nobody can send parts but those at work. */
  narrowed(atWork: readonly string[]): boolean {
    return this.sources.every(
      ({ server, noRanges, dead }) => noRanges || dead || atWork.includes(server.host),
    );
  }

  /** Whether it is the origin, and all others sent bytes that were proven wrong. */
  isOnlyTrusted({ server }: Source): boolean {
    const others = this.sources.filter((source) => source.server !== server);
    return server.kind === 'origin' && others.every((other) => this.#suspects.has(other.server.host));
  }

  get #usable(): Source[] {
    const all = this.sources.filter((source) => !source.dead && !source.disagrees);
    const good = all.filter(({ server }) => !this.#suspects.has(server.host));
    return good.length > 0 ? good : all;
  }

  /** The object is taken from its first byte again: whoever has another version may be right. */
  restart(): void {
    this.#passes = 0;
    for (const source of this.sources) {
      source.tries = 0;
      if (source.disagrees) source.breaker = closedBreaker;
      source.disagrees = false;
    }
  }
}

const ready = ({ busy, breaker }: Source, now: number): boolean => !busy && breaker.openUntil <= now;

/** Circuit breaker of one server: after a failure it rests, longer each time, then one try decides. */
export interface Breaker {
  failures: number;
  /** Milliseconds on the monotonic clock before which it is left alone. */
  openUntil: number;
}

export const closedBreaker: Breaker = { failures: 0, openUntil: 0 };

const initialBackoffMs = 500;
const maxBackoffMs = 60_000;

/** After a failed try; a server may ask for a longer rest than it would get. */
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

/** From what says most about the object to what says least. */
const byInformation: FaultKind[] = [
  'data-corrupt',
  'object-changed',
  'data-wrong',
  'transfer-stalled',
  'transfer-failed',
  'token-refused',
  'token-missing',
  'servers-unreachable',
  'object-missing',
];

const isCache = ({ server }: Source): boolean => server.kind === 'cache';

/** The one Fault that says best why no server could deliver, naming what each of them did. */
export function mostInformativeFault(
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
