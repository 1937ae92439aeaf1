import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../fault/fault.ts';
import { folderFault, type Known } from '../../federation/known-object.ts';
import type { LocateOptions } from '../../federation/located.ts';
import { ConnectionPool } from '../../http/connections.ts';
import type { Policy } from '../policy.ts';
import { askObject } from '../proof/digest.ts';
import type { Sink } from '../sinks/sink.ts';
import { Assignment } from './assignment.ts';
import { agreedSize } from './agreed-size.ts';
import { completed, contradicts, hasValidator, type Accepted, type Identity } from './check-answer.ts';
import { beginSink, SinkFailure, type PieceContext } from './deliver.ts';
import { judge, Lanes, type Lane } from './lanes.ts';
import { Nap } from './nap.ts';
import { OriginWord } from './origin-word.ts';
import { Repair } from './repair.ts';
import { RateMeter, Roster, mostInformativeFault, type Source } from './roster.ts';
import { readPiece, runPiece } from './run-piece.ts';
import { Search } from './search.ts';
import { Segments, type Range } from './segments.ts';
import { Setback } from './setback.ts';
import type { TransferOptions } from './transfer-options.ts';

const tickMs = 250;
/** The first bytes wait no longer than this for their object's size. */
const sizeMs = 1_000;
/** Less than this does not count as progress: a server that always breaks at once must not go on for ever. */
const progressBytes = 256 * 1024;
const maximumRestarts = 2;

/**
 * One object, from as many servers as help, into one sink:
 *
 *     locate --> assign pieces to servers <-----------------------------------.
 *                  |            |                                             |
 *                  | none free  | piece runs: ask, check the head, take bytes |
 *                  v            |                                             |
 *                rest           +-- ended well: more to fetch ----------------+
 *                  |            +-- Setback: its rest is missing again, ------+
 *                  |            |   the server rests (breaker)                |
 *                  |            +-- other version: from byte 0, twice at most-'
 *                  |            '-- the sink failed, the user stopped: end
 *                  |
 *                  '-- all servers failed once more (a lap): ask the director again, then for the origin, at once
 *                      where all are silent; a 404 of caches counts only with the origin's word; after the last
 *                      lap, or too long without a byte: the most informative Fault
 *
 * Every tick the watchdog looks at each running piece: a stalled one is ended, a slow one gets company.
 */
export class Transfer implements PieceContext {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  readonly policy: Policy;
  readonly sink: Sink;
  readonly origin: OriginWord;
  readonly shownUrl: string;
  readonly repair: Repair;
  segments: Segments;
  readonly #options: TransferOptions;
  readonly #roster: Roster;
  readonly #lanes: Lanes;
  readonly #startedAt: number;
  readonly #meter: RateMeter;
  readonly #nap: Nap;
  #identity: Identity;
  #found = false;
  #resumes: boolean;
  readonly #assignment: Assignment;
  readonly #search: Search;
  #restarts = 0;
  #progressAt: number;
  #sinceProgress = 0;
  #shownAt = -Infinity;
  /** How often the range that begins here came damaged. */
  readonly #rejections = new Map<number, number>();
  #changed = false;
  /** The size that the origin, or most servers, say the object has. */
  #believed: number | undefined;
  #waitsForToken = false;
  #fatal: Error | undefined;

  constructor(options: TransferOptions) {
    this.#options = options;
    this.shownUrl = options.shownUrl;
    this.clock = options.clock;
    this.policy = options.policy;
    this.sink = options.sink;
    this.#roster = new Roster(options.suspects);
    this.#identity = options.earlier?.identity ?? this.#required;
    this.segments = new Segments(options.earlier?.identity.size ?? Infinity, options.earlier?.done);
    this.#resumes = options.earlier !== undefined;
    this.#lanes = new Lanes(this.clock);
    this.#search = new Search(options, this.#roster);
    this.#assignment = new Assignment(this, this.#roster, this.#lanes);
    this.#nap = new Nap(this.clock, options.signal);
    this.#startedAt = this.#progressAt = this.clock.monotonic();
    this.#meter = new RateMeter(this.#startedAt);
    const { clock, locator, connections: kept } = options;
    const connectMs = this.policy.connectSeconds * 1000;
    this.pool = new ConnectionPool({ clock, ca: locator.ca, connectMs, kept });
    const asking = { wire: this.pool, locate: (how: LocateOptions) => this.#search.locate(how) };
    this.origin = new OriginWord(asking, (known) => this.#heard(known));
    this.repair = new Repair(this, {
      ...options,
      servers: () => this.record.servers,
      accused: (server, fault) =>
        options.onEvent({ kind: 'setback', server, fault, ...this.#roster.endTurn(server) }),
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

  get mustConfirm(): boolean {
    return !this.#found && !this.#options.proven && this.#resumes && hasValidator(this.#identity);
  }

  /** What the user or a manifest says of the object; else those who know better than a cache. */
  get #required(): Identity {
    return { size: this.#options.size ?? this.#believed, etag: undefined, modified: undefined };
  }

  get witnesses(): Pick<Roster, 'beside'> {
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
        this.origin.at(located);
      }
      if (this.#roster.allSuspect) await this.#search.again(true);
      while (!this.segments.complete || !this.#found) {
        for (const work of this.#assignment.next()) this.#start(work);
        await (this.#lanes.size === 0 ? this.#rest() : this.#nap.sleep(tickMs));
        if (this.#changed) await this.#restart();
        this.#throwIfOver();
        this.#watch();
      }
      this.#showProgress();
    } finally {
      await this.#lanes.stop();
    }
  }

  close(): void {
    this.origin.close();
    this.pool.close();
  }

  /** A range is proven wrong: it is fetched again, from another server. */
  reject(range: Range, servers: ReadonlySet<string>): void {
    const source = this.#roster.sources.find(({ server }) => servers.has(server.host));
    this.segments.putBack(range, source?.server.host ?? '');
    const rejections = (this.#rejections.get(range.start) ?? 0) + 1;
    this.#rejections.set(range.start, rejections);
    const what = `${[...servers].join(', ')}: bytes ${range.start} to ${range.end} are damaged`;
    const fault = new Fault('data-corrupt', what, { about: this.shownUrl });
    if (source !== undefined) this.#setBack(source, new Setback('corrupt', fault));
    // Every server was asked for it, and again: what was published is not what the manifest describes.
    if (rejections > 2 * this.#roster.sources.length) this.#fatal ??= this.#mostInformative();
  }

  async accepted(answer: Accepted, lane: Lane): Promise<void> {
    lane.source.answerSeconds = (this.clock.monotonic() - lane.startedAt) / 1000;
    lane.source.turn.age ??= answer.age;
    if (this.#found) return;
    this.#found = true;
    this.#assignment.found(lane.source, answer.age);
    const etag = this.#options.proven ? undefined : answer.etag;
    this.#identity = { size: this.#identity.size ?? answer.size, etag, modified: answer.modified };
    this.#complete(undefined);
    if (this.origin.known !== undefined) this.#heard(this.origin.known);
    if (!this.#options.proven && !hasValidator(this.#identity)) void this.origin.answer();
    else if (this.#identity.size === undefined) await this.#askSize(lane.source);
    await beginSink(this.sink, this.#identity.size);
    await this.#options.onFound(lane.source, this.pool);
    this.#considerWidening(lane);
  }

  /** An answer that ends with a status does not begin with a size. */
  async #askSize(source: Source): Promise<void> {
    const facts = await askObject(source, this.pool, sizeMs, this.#options.signal, false);
    if (facts?.size === undefined) void this.origin.answer();
    else this.#heard({ size: facts.size, isCollection: false, server: source.server.host, kind: 'cache' });
  }

  #heard(known: Known): void {
    if (known.isCollection) this.#fatal ??= folderFault(this.shownUrl);
    if (this.#found && this.#options.size === undefined && contradicts(known, this.#identity)) {
      this.#believed = known.size;
      this.#changed = true;
    }
    const isNew = this.#found && this.#identity.size === undefined;
    if (this.#found) this.#complete(known);
    if (isNew)
      beginSink(this.sink, this.#identity.size).catch((error: unknown) => this.#endWith(error as Error));
    this.#nap.wake();
  }

  #complete(origin: Known | undefined): void {
    if (origin !== undefined) this.#identity = completed(this.#identity, origin);
    if (this.#identity.size !== undefined) this.segments.settle(this.#identity.size);
  }

  delivered(lane: Lane, bytes: number): void {
    const now = lane.movedAt;
    lane.source.bytes += bytes;
    lane.source.turn.bytes += bytes;
    lane.source.turn.firstByteSeconds ??= (now - lane.startedAt) / 1000;
    lane.source.meter.add(bytes, now);
    this.#meter.add(bytes, now);
    this.#sinceProgress += bytes;
    this.#considerWidening(lane);
    if (this.#sinceProgress < progressBytes && lane.piece.position < lane.piece.end) return;
    this.#sinceProgress = 0;
    this.#progressAt = now;
    this.#search.rest();
    this.#waitsForToken = false;
    this.#roster.progressed(lane.source);
  }

  #considerWidening(lane: Lane): void {
    if (this.#assignment.consider(lane, this.#meter.rate(this.clock.monotonic()))) this.#nap.wake();
  }

  #start(work: Pick<Lane, 'source' | 'piece' | 'helps'>): void {
    const { source, piece } = work;
    const read = source.server.url.startsWith('file:') ? readPiece : runPiece;
    const run = (lane: Lane) => read(this, lane);
    this.#lanes.start(work, run, (error) => {
      this.segments.release(piece);
      if (error instanceof Setback) this.#setBack(source, error);
      else if (error !== undefined) this.#endWith(error);
      this.#nap.wake();
    });
  }

  #endWith(error: Error): void {
    this.#fatal ??= error instanceof SinkFailure ? error.fault : error;
  }

  #setBack(source: Source, setback: Setback): void {
    const { trouble, fault } = setback;
    if (trouble === 'expired') {
      this.#tokenExpired(source, fault);
      return;
    }
    this.#roster.failed(source, setback, this.clock.monotonic());
    if (trouble === 'cold') return;
    const server = source.server.host;
    this.#options.onEvent({ kind: 'setback', server, fault, ...this.#roster.endTurn(server) });
    if (trouble === 'missing' && source.server.kind !== 'cache' && !this.#found) void this.#missing(source);
    // It contradicts itself and is alone, or the first server asked contradicts an earlier attempt, or the origin those
    // who were all proven wrong: no need to ask the others.
    const isAlone =
      (source.bytes > 0 && !this.#roster.hasOthers) ||
      (!this.#found && this.#resumes) ||
      this.#roster.isBelievedAlone(source);
    if (trouble === 'changed' && isAlone) this.#changed = true;
    if (trouble === 'no-ranges' && this.#roster.narrowed(this.#lanes.servers)) this.#assignment.narrow();
  }

  /** A cache may be wrong about what exists; the origin is not, unless it lists the object. */
  async #missing({ server }: Source): Promise<void> {
    const known = server.kind === 'origin' ? await this.origin.answer() : undefined;
    if (known?.kind !== 'origin') this.#fatal ??= this.#mostInformative();
    this.#nap.wake();
  }

  /** A transfer under way waits for a new token, and says so once; at its beginning there is nothing to lose. */
  #tokenExpired({ server }: Source, fault: Fault): void {
    const now = this.clock.monotonic();
    const waits = this.record.servers.length > 0 && now - this.#progressAt < this.policy.renewSeconds * 1000;
    if (!waits) this.#fatal ??= fault;
    else if (!this.#waitsForToken) this.#options.onEvent({ kind: 'setback', server: server.host, fault });
    this.#waitsForToken = waits;
    this.#roster.waitForToken(now);
  }

  async #restart(): Promise<void> {
    const url = this.shownUrl;
    if (!(await this.#tryRestart()))
      throw new Fault('object-changed', `${url} changed while it was being fetched`, { about: url });
  }

  async #tryRestart(): Promise<boolean> {
    await this.#lanes.stop();
    if (this.#restarts >= maximumRestarts || !this.sink.restart()) return false;
    this.#restarts++;
    this.#changed = false;
    this.#found = false;
    this.#assignment.restart();
    this.#resumes = false;
    this.#identity = this.#required;
    if (this.#believed === undefined) this.origin.forget();
    this.segments = new Segments(Infinity);
    this.#roster.restart();
    return true;
  }

  /** Nothing runs and nobody can be asked now: wait for a server's rest to end, or begin another lap. */
  async #rest(): Promise<void> {
    const now = this.clock.monotonic();
    const nextAt = this.#roster.nextAt();
    if (!this.#roster.lapDone && nextAt !== undefined) {
      // A server may be free and yet not be asked for the one range it sent damaged.
      if (this.#roster.allFree(now)) this.segments.forgive();
      if (nextAt > this.#progressAt + this.policy.quietSeconds * 1000) throw this.#mostInformative();
      this.#search.sayWait(nextAt - now);
      return this.#nap.sleep(nextAt > now ? Math.min(tickMs, nextAt - now) : 1);
    }
    this.#roster.nextLap();
    if (this.#isQuiet(now)) await this.#search.forOrigin();
    else await this.#search.again(this.#roster.lap > 1 || nextAt === undefined);
    this.segments.forgive();
    // All say no: the origin is asked whether they are right.
    if (this.#roster.nextAt() === undefined && !(await this.origin.deniesIt()))
      this.#roster.revive(this.origin.known?.kind === 'origin');
    const others = this.#roster.sources.filter(({ disagrees }) => disagrees);
    const isOver = !this.#roster.hasLapsLeft(this.policy);
    const isOriginOther = others.some(({ server }) => server.kind === 'origin');
    // Its own answer is not what it said of the object.
    if (isOriginOther) {
      this.#believed = undefined;
      this.origin.distrust();
    }
    if (others.length > 0 && (isOver || isOriginOther) && (await this.#tryRestart())) return;
    if (isOver) throw this.#mostInformative();
  }

  /** Nobody has sent anything for so long that it is the origin's turn. */
  #isQuiet(now: number): boolean {
    return !this.#lanes.waitForSink && now - this.#progressAt > this.policy.originSeconds * 1000;
  }

  #watch(): void {
    const now = this.clock.monotonic();
    if (now - this.#shownAt >= tickMs) this.#showProgress();
    if (this.#isQuiet(now))
      void this.#search.forOrigin().catch((error: unknown) => this.#endWith(error as Error));
    const { budgetSeconds } = this.policy;
    const leftMs = budgetSeconds === undefined ? undefined : this.#startedAt + budgetSeconds * 1000 - now;
    const alternative = this.#lanes.size > 1 || this.#roster.candidates(now).length > 0;
    const { size, missingBytes } = this.segments;
    const { slow } = this.#lanes.watch((watched, lane) => {
      const bestOther = this.#lanes.bestBeside(lane);
      return judge(watched, { bestOther, alternative, size, missingBytes, leftMs }, this.policy);
    });
    if (slow && this.#assignment.helpSlow()) this.#nap.wake();
    if (slow && size === Infinity) void this.origin.answer();
  }

  #showProgress(): void {
    const now = this.clock.monotonic();
    this.#shownAt = now;
    const { size: total } = this.#identity;
    const bytes =
      total === undefined
        ? this.record.servers.reduce((sum, each) => sum + each.bytes, 0)
        : total - this.segments.missingBytes;
    const server = this.#lanes.servers.join(', ');
    this.#options.onEvent({ kind: 'progress', bytes, total, rate: this.#meter.rate(now), server });
  }

  #throwIfOver(): void {
    this.#options.signal.throwIfAborted();
    if (this.#fatal !== undefined) throw this.#fatal;
    if (this.segments.complete && this.#found) return;
    const now = this.clock.monotonic();
    const { budgetSeconds, quietSeconds } = this.policy;
    if (budgetSeconds !== undefined && now - this.#startedAt > budgetSeconds * 1000)
      throw new Fault('transfer-stalled', `${this.shownUrl}: ${this.#state()} in ${budgetSeconds} s`);
    if (!this.#lanes.waitForSink && now - this.#progressAt > quietSeconds * 1000)
      throw this.#mostInformative();
  }

  #mostInformative(): Fault {
    return mostInformativeFault(this.shownUrl, this.#roster.sources, this.#state(), this.origin.isMissing);
  }

  #state(): string {
    const { size } = this.#identity;
    if (!this.#found || size === undefined) return 'no server delivers it';
    return `${size - this.segments.missingBytes} of ${size} bytes fetched`;
  }
}
