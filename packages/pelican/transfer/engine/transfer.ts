import { type Clock, defined } from '@updraft/base';
import { Fault, asFault } from '../../fault.ts';
import { folderFault, type OriginFacts } from '../../federation/stat-object.ts';
import type { LocateOptions, Located } from '../../federation/located.ts';
import { ConnectionPool } from '../../http/connections.ts';
import type { TransferLimits } from '../limits.ts';
import { askSize, hasDigest, askObject, within, type ExpectedDigest } from '../proof/digest.ts';
import { expectWrong } from '../proof/verify.ts';
import type { Sink } from '../sinks/sink.ts';
import { SegmentScheduler } from './assignment.ts';
import {
  completed,
  contradicts,
  isOlder,
  type Accepted,
  type Identity,
  describeVersion,
  Setback,
} from './check-response.ts';
import {
  beginSink,
  SinkFailure,
  type SegmentContext,
  judgeSegment,
  Fetchers,
  type Fetcher,
} from './fetchers.ts';
import { OriginAnswer } from './origin-answer.ts';
import { Repair } from './repair.ts';
import { RateMeter, Roster, clearestFault, type Source } from './roster.ts';
import { readSegment, fetchSegment } from './fetch-segment.ts';
import { SegmentMap, type Range } from './segments.ts';
import type { Settings } from '../fetch.ts';
import type { EarlierPart } from '../sinks/part-journal.ts';

const tickMs = 250;
/** Less than this does not count as progress: a server that always fails at once must not continue for ever. */
const progressBytes = 256 * 1024;
const maxRestarts = 2;

/**
 * One object, from as many servers as help, into one sink:
 *
 *     locate --> assign segments to servers <---------------------------------.
 *                  |            |                                             |
 *                  | none free  | segment runs: request, check head, read     |
 *                  v            |                                             |
 *               back off        +-- ended well: more to fetch ----------------+
 *                  |            +-- Setback: the rest is missing again, ------+
 *                  |            |   the server backs off (breaker)            |
 *                  |            +-- other version: from byte 0, max. twice ---'
 *                  |            '-- the sink failed, the user stopped: end
 *                  |
 *                  '-- all servers failed once more (a pass): ask the director again, then for the origin, at once
 *                      if all are silent; a 404 of caches counts only if the origin confirms it; after the last
 *                      pass, or too long without a byte: the most informative Fault
 *
 * Every tick the watchdog checks each running segment: a stalled one is ended, a slow one gets help.
 */
export class Transfer implements SegmentContext {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  readonly limits: TransferLimits;
  readonly sink: Sink;
  readonly origin: OriginAnswer;
  readonly shownUrl: string;
  readonly isProvable: boolean;
  readonly repair: Repair;
  segments: SegmentMap;
  readonly #options: TransferOptions;
  readonly #roster: Roster;
  readonly #fetchers: Fetchers;
  readonly #startedAt: number;
  readonly #meter: RateMeter;
  readonly #sleep: WakeableSleep;
  #identity: Identity;
  #found = false;
  readonly #assignment: SegmentScheduler;
  readonly #search: Search;
  #restarts = 0;
  #progressAt: number;
  #sinceProgress = 0;
  #shownAt = -Infinity;
  /** What came instead of the range that begins here, and from whom. */
  readonly #rejections = new Map<number, { found: string; servers: ReadonlySet<string> }[]>();
  #changed = false;
  /** The size of the object according to the origin, or to most servers. */
  #believed: number | undefined;
  #waitsForToken = false;
  #fatal: Error | undefined;

  constructor(options: TransferOptions) {
    this.#options = options;
    this.shownUrl = options.shownUrl;
    this.isProvable = options.proven || options.sha256 !== undefined;
    this.clock = options.clock;
    this.limits = options.limits;
    this.sink = options.sink;
    this.#roster = new Roster(options.suspects);
    this.#identity = options.earlier?.identity ?? this.#required;
    this.segments = new SegmentMap(options.earlier?.identity.size ?? Infinity, options.earlier?.done);
    this.#fetchers = new Fetchers(this.clock);
    this.#search = new Search(options, this.#roster);
    this.#assignment = new SegmentScheduler(this, this.#roster, this.#fetchers);
    this.#sleep = new WakeableSleep(this.clock, options.signal);
    this.#startedAt = this.#progressAt = this.clock.monotonic();
    this.#meter = new RateMeter(this.#startedAt);
    const { clock, locator, connections: idle } = options;
    const connectMs = this.limits.connectSeconds * 1000;
    this.pool = new ConnectionPool({ clock, ca: locator.ca, connectMs, idle });
    const asking = { wire: this.pool, locate: (how: LocateOptions) => this.#search.locate(how) };
    this.origin = new OriginAnswer(asking, (known) => this.#learn(known));
    this.repair = new Repair(this, {
      ...options,
      servers: () => this.record.servers,
      hasOtherVersion: () => this.#roster.sources.some(({ dead, disagrees }) => disagrees && !dead),
      isOlder: async () => isOlder(this.#identity, await this.origin.answer()),
      onSuspect: (server, fault) => this.#report(server, fault),
      run: () => this.run(),
      restart: () => this.#tryRestart(),
      agreedSize: async (here) =>
        (this.#believed =
          options.size ?? (await agreedSize(here, this, this.#roster.sources, options.signal))),
    });
  }

  get known(): Identity {
    return this.#identity;
  }

  readonly hasSameDigest = (source: Source): Promise<boolean> => hasDigest(source, this.pool, this.#options);

  /** The size according to the user or a manifest; otherwise according to those who know better than a cache. */
  get #required(): Identity {
    return { size: this.#options.size ?? this.#believed, etag: undefined, modified: undefined };
  }

  get witnesses(): Pick<Roster, 'othersThan'> {
    return this.#roster;
  }

  get record(): Roster['record'] {
    return this.#roster.record;
  }

  /** Runs until every byte is in the sink; rejects with the most informative Fault, or the signal's reason. */
  async run(): Promise<void> {
    try {
      if (this.#roster.sources.length === 0) {
        const located = await this.#search.locate({});
        this.#roster.add(located, this.#startedAt);
        this.origin.setLocation(located);
      }
      if (this.#roster.allSuspect) await this.#search.again(true);
      while (!this.segments.complete || !this.#found) {
        for (const work of this.#assignment.next()) this.#start(work);
        await (this.#fetchers.size === 0 ? this.#rest() : this.#sleep.sleep(tickMs));
        if (this.#changed && !(await this.#tryRestart()))
          throw otherVersions(this.shownUrl, this.#roster.sources);
        this.#throwIfOver();
        this.#watch();
      }
      this.#showProgress();
    } finally {
      await this.#fetchers.stop();
    }
  }

  close(): void {
    this.origin.close();
    this.pool.close();
  }

  /** A range is damaged: it is fetched again, from another server. */
  reject(range: Range, servers: ReadonlySet<string>, found: string): void {
    const source = this.#roster.sources.find(({ server }) => servers.has(server.host));
    this.segments.putBack(range, source?.server.host ?? '');
    const { length } = this.#roster.sources;
    const about = this.shownUrl;
    const what = `bytes ${range.start} to ${range.end} are damaged`;
    const fault = new Fault('data-corrupt', `${[...servers].join(', ')}: ${what}`, { about });
    if (source !== undefined) this.#onSetback(source, new Setback('corrupt', fault));
    const before = this.#rejections.get(range.start) ?? [];
    this.#rejections.set(range.start, [...before, { found, servers }]);
    const same = before.find(
      (each) => each.found === found && (length === 1 || each.servers.isDisjointFrom(servers)),
    );
    if (same !== undefined)
      this.#fatal ??= expectWrong(about, `${about}: ${what}, says the manifest`, [
        ...same.servers,
        ...servers,
      ]);
    // Every server was asked for it twice: the published object is not what the manifest describes.
    if (before.length >= 2 * length) this.#fatal ??= this.#clearestFault();
  }

  async accepted(answer: Accepted, fetcher: Fetcher): Promise<void> {
    fetcher.controller.signal.throwIfAborted();
    this.#fetchers.win(fetcher);
    fetcher.source.answerSeconds = (this.clock.monotonic() - fetcher.startedAt) / 1000;
    fetcher.source.turn.age ??= answer.age;
    if (this.#found) return;
    this.#found = true;
    this.#assignment.found(fetcher.source, answer.age);
    const { size, etag, weak, modified, server } = answer;
    this.#identity = this.#options.proven ? this.#required : { size, etag, weak, modified, server };
    this.#complete(undefined);
    if (this.origin.known !== undefined) this.#learn(this.origin.known);
    if (!this.#options.proven && (etag ?? modified) === undefined) void this.origin.answer();
    else if (this.#identity.size === undefined) {
      const facts = await askSize(fetcher.source, this.pool, this.#options.signal);
      if (facts === undefined) void this.origin.answer();
      else this.#learn(facts);
    }
    await beginSink(this.sink, this.#identity.size);
    await this.#options.onFound(fetcher.source, this.pool);
    this.#considerWidening(fetcher);
  }

  #learn(known: OriginFacts): void {
    if (known.isCollection) this.#fatal ??= folderFault(this.shownUrl);
    if (this.#found && this.#options.size === undefined && contradicts(known, this.#identity)) {
      this.#believed = known.size;
      this.#changed = true;
    }
    const isNew = this.#found && this.#identity.size === undefined;
    if (this.#found) this.#complete(known);
    if (isNew)
      beginSink(this.sink, this.#identity.size).catch((error: unknown) => this.#endWith(error as Error));
    this.#sleep.wake();
  }

  #complete(origin: OriginFacts | undefined): void {
    if (origin !== undefined && !this.#options.proven) this.#identity = completed(this.#identity, origin);
    if (this.#identity.size !== undefined) this.segments.setSize(this.#identity.size);
  }

  delivered(fetcher: Fetcher, bytes: number): void {
    const now = fetcher.lastByteAt;
    fetcher.source.bytes += bytes;
    fetcher.source.turn.bytes += bytes;
    fetcher.source.turn.firstByteSeconds ??= (now - fetcher.startedAt) / 1000;
    fetcher.source.meter.add(bytes, now);
    this.#meter.add(bytes, now);
    this.#sinceProgress += bytes;
    this.#considerWidening(fetcher);
    if (this.#sinceProgress < progressBytes && fetcher.segment.position < fetcher.segment.end) return;
    this.#sinceProgress = 0;
    this.#progressAt = now;
    this.#search.rest();
    this.#waitsForToken = false;
    this.#roster.progressed(fetcher.source);
  }

  #considerWidening(fetcher: Fetcher): void {
    if (this.#assignment.consider(fetcher, this.#meter.rate(this.clock.monotonic()))) this.#sleep.wake();
  }

  #start(work: Pick<Fetcher, 'source' | 'segment' | 'helps'>): void {
    const { source, segment } = work;
    const read = source.server.url.startsWith('file:') ? readSegment : fetchSegment;
    const run = (fetcher: Fetcher) => read(this, fetcher);
    this.#fetchers.start(work, run, (error) => {
      this.segments.release(segment);
      if (error instanceof Setback) this.#onSetback(source, error);
      else if (error !== undefined) this.#endWith(error);
      this.#sleep.wake();
    });
  }

  #endWith(error: Error): void {
    this.#fatal ??= error instanceof SinkFailure ? error.fault : error;
  }

  #report(server: string, fault: Fault): void {
    this.#options.onEvent({ kind: 'setback', server, fault, ...this.#roster.endTurn(server) });
  }

  #onSetback(source: Source, setback: Setback): void {
    const { kind, fault } = setback;
    if (kind === 'expired') {
      this.#onTokenExpired(source, fault);
      return;
    }
    this.#roster.failed(source, setback, this.clock.monotonic());
    if (kind === 'cold') return;
    this.#report(source.server.host, fault);
    if (kind === 'missing' && source.server.kind !== 'cache' && !this.#found) void this.#missing(source);
    // Bytes that are there must not be joined with those of a later version.
    if (this.#found || this.#options.earlier !== undefined) this.origin.refresh();
    // A lone server contradicts itself, or the origin contradicts servers that all sent wrong bytes.
    const isAlone = (source.bytes > 0 && !this.#roster.hasOthers) || this.#roster.isOnlyTrusted(source);
    if (kind === 'changed' && isAlone) this.#changed = true;
    if (kind === 'no-ranges' && this.#roster.onlySenders(this.#fetchers.servers)) this.#assignment.narrow();
  }

  /** A cache may be wrong about what exists; the origin is right, unless it lists the object. */
  async #missing({ server }: Source): Promise<void> {
    const known = server.kind === 'origin' ? await this.origin.answer() : undefined;
    if (known?.kind !== 'origin') this.#fatal ??= this.#clearestFault();
    this.#sleep.wake();
  }

  /** A transfer in progress waits for a new token, and reports that once; at the start there is nothing to lose. */
  #onTokenExpired({ server }: Source, fault: Fault): void {
    const now = this.clock.monotonic();
    const waits = this.record.servers.length > 0 && now - this.#progressAt < this.limits.renewSeconds * 1000;
    if (!waits) this.#fatal ??= fault;
    else if (!this.#waitsForToken) this.#options.onEvent({ kind: 'setback', server: server.host, fault });
    this.#waitsForToken = waits;
    this.#roster.waitForToken(now);
  }

  async #tryRestart(): Promise<boolean> {
    await this.#fetchers.stop();
    if (this.#restarts >= maxRestarts || !this.sink.restart()) return false;
    this.#restarts++;
    this.#changed = this.#found = false;
    this.#assignment.restart();
    this.#roster.restart(this.#identity.server);
    this.#identity = this.#required;
    if (this.#believed === undefined) this.origin.forget();
    this.segments = new SegmentMap(Infinity);
    return true;
  }

  /** Nothing runs and no server can be asked now: wait for the next backoff to end, or start another pass. */
  async #rest(): Promise<void> {
    const now = this.clock.monotonic();
    const nextAt = this.#roster.nextAt();
    if (!this.#roster.isPassDone && nextAt !== undefined) {
      // A free server may still be excluded from the one range that it sent damaged.
      if (this.#roster.allFree(now)) this.segments.allowAllServers();
      if (nextAt > this.#progressAt + this.limits.quietSeconds * 1000) throw this.#clearestFault();
      this.#search.reportWait(nextAt - now);
      return this.#sleep.sleep(nextAt > now ? Math.min(tickMs, nextAt - now) : 1);
    }
    this.#roster.nextPass();
    if (this.#isQuiet(now)) await this.#search.forOrigin();
    else await this.#search.again(this.#roster.passes > 1 || nextAt === undefined || this.#roster.allSuspect);
    this.segments.allowAllServers();
    // All servers say no: ask the origin whether they are right.
    if (this.#roster.nextAt() === undefined && !(await this.origin.saysMissing()))
      this.#roster.revive(this.origin.known?.kind === 'origin');
    const others = this.#roster.sources.filter(({ disagrees }) => disagrees);
    const isOver = !this.#roster.hasPassesLeft(this.limits);
    const isOriginOther = others.some(({ server }) => server.kind === 'origin');
    // The origin's data contradicts what it said about the object.
    if (isOriginOther) {
      this.#believed = undefined;
      this.origin.distrust();
    }
    if (others.length > 0 && (isOver || isOriginOther) && (await this.#tryRestart())) return;
    if (isOver) throw this.#clearestFault();
  }

  /** No bytes for so long that the origin must be asked. */
  #isQuiet(now: number): boolean {
    return !this.#fetchers.waitForSink && now - this.#progressAt > this.limits.originSeconds * 1000;
  }

  #watch(): void {
    const now = this.clock.monotonic();
    if (now - this.#shownAt >= tickMs) this.#showProgress();
    if (this.#isQuiet(now))
      void this.#search.forOrigin().catch((error: unknown) => this.#endWith(error as Error));
    const alternative = this.#fetchers.size > 1 || this.#roster.candidates(now).length > 0;
    const { size } = this.segments;
    const { slow } = this.#fetchers.watch((watched, fetcher) => {
      const bestOther = this.#fetchers.bestOtherRate(fetcher);
      return judgeSegment(watched, { bestOther, alternative, size }, this.limits);
    });
    if (slow && this.#fetchers.race === undefined && this.#assignment.helpSlow()) this.#sleep.wake();
    if (slow && size === Infinity) void this.origin.answer();
  }

  #showProgress(): void {
    const now = (this.#shownAt = this.clock.monotonic());
    const { size: total } = this.#identity;
    const known = (total ?? NaN) - this.segments.missingBytes;
    const bytes = known >= 0 ? known : this.record.servers.reduce((sum, each) => sum + each.bytes, 0);
    const server = this.#fetchers.servers.join(', ');
    this.#options.onEvent({ kind: 'progress', bytes, total, rate: this.#meter.rate(now), server });
  }

  #throwIfOver(): void {
    this.#options.signal.throwIfAborted();
    if (this.#fatal !== undefined) throw this.#fatal;
    if (this.segments.complete && this.#found) return;
    const now = this.clock.monotonic();
    if (!this.#fetchers.waitForSink && now - this.#progressAt > this.limits.quietSeconds * 1000)
      throw this.#clearestFault();
  }

  #clearestFault(): Fault {
    const { size } = this.#options;
    const wrong = size === undefined ? undefined : wrongSize(this.shownUrl, size, this.#roster.sources);
    return wrong ?? clearestFault(this.shownUrl, this.#roster.sources, this.#state(), this.origin.isMissing);
  }

  #state(): string {
    const { size } = this.#identity;
    if (!this.#found || size === undefined) return 'no server delivers it';
    return `${size - this.segments.missingBytes} of ${size} bytes fetched`;
  }
}

const timeoutMs = 1_000;

/**
 * The size of an object whose bytes have arrived without a digest to verify them. If caches sent them, the origin
 * decides; if it says nothing, the majority of the servers that answer does.
 */
async function agreedSize(
  here: number,
  { origin, pool, shownUrl: about }: Pick<SegmentContext, 'origin' | 'pool' | 'shownUrl'>,
  sources: readonly Source[],
  signal: AbortSignal,
): Promise<number> {
  if (!sources.some(({ server, bytes }) => server.kind === 'cache' && bytes > 0)) return here;
  const known = await origin.answer();
  if (known?.size !== undefined && known.kind !== 'cache') return known.size;
  const sizes = new Map<number, string[]>();
  const ask = async (source: Source): Promise<void> => {
    const said = source.bytes > 0 && !source.disagrees ? source.said?.size : undefined;
    // Also to connect: one that never does would take ten seconds.
    const facts = () => askObject(source, pool, timeoutMs, signal, false);
    const size = said ?? (await within(timeoutMs, facts(), { clock: pool.clock, signal }))?.size;
    if (size !== undefined) sizes.set(size, [...(sizes.get(size) ?? []), source.server.host]);
  };
  await Promise.all(sources.map(ask));
  signal.throwIfAborted();
  const [first, second] = [...sizes].sort(([, one], [, other]) => other.length - one.length);
  if (first === undefined || first[1].length > (second?.[1].length ?? 0)) return first?.[0] ?? here;
  const said = [...sizes].map(([size, hosts]) => `${hosts.join(', ')}: ${size} bytes`).join('; ');
  throw new Fault('object-changed', `${about}: servers have different sizes of it (${said})`, { about, fix });
}

const fix = 'try again when its origin answers, or leave out the cache that is wrong (--avoid-cache)';

/** Starting over did not help. */
function otherVersions(about: string, sources: readonly Source[]): Fault {
  const said = sources.flatMap(({ server, said: own }) =>
    own === undefined ? [] : [`${server.host}: ${own.size} bytes, ${describeVersion(own)}`],
  );
  const what = `${about}: it changes, or servers have different versions of it (${said.join('; ')})`;
  return new Fault('object-changed', what, { about, fix });
}

/** The Fault if at least two servers agree on another size than the expected one. */
function wrongSize(about: string, expected: number, sources: readonly Source[]): Fault | undefined {
  const [first, ...others] = sources.filter(({ said }) => said?.size !== undefined);
  const size = first?.said?.size;
  if (size === expected || others.length === 0 || others.some(({ said }) => said?.size !== size))
    return undefined;
  const hosts = sources.map(({ server }) => server.host);
  return expectWrong(about, `${about} has ${size} bytes, expected ${expected}`, hosts);
}

const minReportedWaitMs = 750;

/** Finds the servers of the object: at the start, when they fail, and the origin when all of them are silent. */
class Search {
  readonly #options: TransferOptions;
  readonly #roster: Roster;
  #forOrigin: Promise<void> | undefined;
  #reported: Setback | undefined;

  constructor(options: TransferOptions, roster: Roster) {
    this.#options = options;
    this.#roster = roster;
  }

  locate(how: LocateOptions): Promise<Located> {
    const { url, locator, tokenFile, signal, onEvent } = this.#options;
    const onWait = (until: number, failed: Error) =>
      onEvent({ kind: 'wait', server: 'director', until, fault: asFault(failed) });
    return locator.locate(url, { ...how, signal, onWait, ...defined({ tokenFile }) });
  }

  /** Asks the director again, for the origin if `direct`; if that fails, the known servers remain. */
  async again(direct: boolean): Promise<void> {
    const { clock, signal, onEvent } = this.#options;
    try {
      const how = { fresh: true, direct: direct && !this.#roster.isExclusive };
      this.#roster.add(await this.locate(how), clock.monotonic());
    } catch (error) {
      signal.throwIfAborted();
      onEvent({ kind: 'setback', server: 'director', fault: asFault(error) });
    }
  }

  /** Asks for the origin, once until bytes arrive again. */
  async forOrigin(): Promise<void> {
    await (this.#forOrigin ??= this.again(true));
  }

  /** Reports, once per setback, that no server can be asked now; short waits are not reported. */
  reportWait(ms: number): void {
    const next = this.#roster.nextUp();
    if (next?.last === undefined || ms < minReportedWaitMs || next.last === this.#reported) return;
    this.#reported = next.last;
    const { clock, onEvent } = this.#options;
    onEvent({ kind: 'wait', server: next.server.host, until: clock.now() + ms, fault: next.last.fault });
  }

  /** Called when bytes arrive. */
  rest(): void {
    this.#forOrigin = undefined;
  }
}

/** A wait that ends early when something happens. */
class WakeableSleep {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #woken = new AbortController();

  /** An abort of the signal also ends the wait. */
  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  async sleep(ms: number): Promise<void> {
    const woken = (this.#woken = new AbortController());
    const wake = () => woken.abort();
    this.#signal.addEventListener('abort', wake, { once: true });
    try {
      await this.#clock.sleep(ms, woken.signal);
    } catch {
      // Woken early.
    } finally {
      this.#signal.removeEventListener('abort', wake);
    }
  }

  wake(): void {
    this.#woken.abort();
  }
}

interface TransferOptions extends Omit<Settings, 'manifest' | 'onDigest'> {
  url: string;
  sink: Sink;
  /** Chunk hashes verify the bytes, so that versions cannot be mixed unnoticed and ETags need not agree. */
  proven: boolean;
  earlier: EarlierPart | undefined;
  digest: ExpectedDigest;
  /** Called for the first good answer, before its first byte is used. */
  onFound: (source: Source, pool: ConnectionPool) => void | Promise<void>;
}
