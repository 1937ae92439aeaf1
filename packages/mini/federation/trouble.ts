import path from 'node:path';
import type { Clock } from '@updraft/base';
import { parseTrouble, TroubleSyntaxError } from './parse-trouble.ts';
import {
  type TroubleAction,
  type ActionOf,
  type TroubleRequest,
  ruleCovers,
  type TroubleRule,
} from './trouble-rule.ts';

/** A rule as `list` shows it. */
export interface TroubleStatus {
  id: number;
  rule: string;
  /** Requests it could have hit. */
  seen: number;
  /** How often it fired. */
  fired: number;
}

interface Active extends TroubleStatus {
  parsed: TroubleRule;
  since: number;
  /** When it first fired. */
  begun: number | undefined;
  sent: number;
  pacer: Pacer | undefined;
  /** Ends what the rule started, such as a server that is down. */
  end: AbortController;
}

/** The active rules: servers consult it wherever something can go wrong. */
export class Trouble {
  readonly #clock: Clock;
  readonly #setDown: (server: string, down: boolean) => Promise<void>;
  readonly #servers: () => string[];
  #rules: Active[] = [];
  #lastId = 0;

  constructor(
    clock: Clock,
    servers: () => string[],
    setDown: (server: string, down: boolean) => Promise<void>,
  ) {
    this.#clock = clock;
    this.#servers = servers;
    this.#setDown = setDown;
  }

  /** Adds a rule and returns its id; throws TroubleSyntaxError naming the wrong word. */
  async add(text: string): Promise<number> {
    const parsed = parseTrouble(text);
    const covered = this.#servers().filter((server) => ruleCovers(parsed, server));
    if (covered.length === 0) throw new TroubleSyntaxError(text, `there is no server ${parsed.server}`);
    const rule: Active = {
      id: ++this.#lastId,
      rule: parsed.text,
      seen: 0,
      fired: 0,
      sent: 0,
      parsed,
      since: this.#clock.monotonic(),
      begun: undefined,
      pacer: parsed.action.kind === 'limit' ? new Pacer(parsed.action.rate, this.#clock) : undefined,
      end: new AbortController(),
    };
    this.#rules.push(rule);
    if (parsed.action.kind === 'down' && parsed.onceSent === undefined) await this.#takeDown(rule);
    return rule.id;
  }

  async remove(id: number): Promise<boolean> {
    const rule = this.#rules.find((each) => each.id === id);
    if (rule === undefined) return false;
    this.#rules = this.#rules.filter((each) => each !== rule);
    await this.#bringUp(rule);
    return true;
  }

  async clear(): Promise<void> {
    for (const { id } of [...this.#rules]) await this.remove(id);
  }

  list(): TroubleStatus[] {
    return this.#rules.map(({ id, rule, seen, fired }) => ({ id, rule, seen, fired }));
  }

  /**
   * The action of this kind that hits this request, if any; counts it. `applies` says whether it can have an effect, so
   * that a probe of one byte does not use up `stall after 1MB first 1`.
   */
  pick<K extends TroubleAction['kind']>(
    kind: K,
    asked: TroubleRequest,
    applies: (action: ActionOf<K>) => boolean = () => true,
  ): ActionOf<K> | undefined {
    return this.#pick(kind, asked, applies)?.parsed.action as ActionOf<K> | undefined;
  }

  /** Pacers for this answer: its own (`slow`) and the server's (`limit`). */
  pacers(asked: TroubleRequest): Pacer[] {
    const slow = this.pick('slow', asked);
    const limit = this.#pick('limit', asked, () => true);
    return [
      ...(slow === undefined ? [] : [new Pacer(slow.rate, this.#clock)]),
      ...(limit?.pacer ? [limit.pacer] : []),
    ];
  }

  /** Counts sent bytes for the rules with `once SIZE sent`. */
  sent(asked: TroubleRequest, bytes: number): void {
    for (const rule of this.#rules) {
      const { onceSent } = rule.parsed;
      if (onceSent === undefined || !isAbout(rule.parsed, asked)) continue;
      const before = rule.sent;
      rule.sent += bytes;
      const reached = before < onceSent && rule.sent >= onceSent;
      if (reached && rule.parsed.action.kind === 'down') void this.#takeDown(rule);
    }
  }

  #pick<K extends TroubleAction['kind']>(
    kind: K,
    asked: TroubleRequest,
    applies: (action: ActionOf<K>) => boolean,
  ): Active | undefined {
    return this.#rules.find((rule) => {
      const { action } = rule.parsed;
      if (action.kind !== kind || !isAbout(rule.parsed, asked)) return false;
      return applies(action as ActionOf<K>) && this.#due(rule);
    });
  }

  #due(rule: Active): boolean {
    const { skip, first, every, forMs, lastingMs, onceSent } = rule.parsed;
    const now = this.#clock.monotonic();
    if (lastingMs !== undefined && now - (rule.begun ?? now) > lastingMs) return false;
    if (forMs !== undefined && now - rule.since > forMs) return false;
    if (onceSent !== undefined && rule.sent < onceSent) return false;
    rule.seen += 1;
    if (rule.seen <= skip || (rule.seen - skip) % every !== 0) return false;
    if (first !== undefined && rule.fired >= first) return false;
    rule.fired += 1;
    rule.begun ??= now;
    return true;
  }

  async #takeDown(rule: Active): Promise<void> {
    rule.fired += 1;
    await this.#forServers(rule, true);
    const { forMs } = rule.parsed;
    if (forMs === undefined) return;
    // Rejects if the rule ended early, or if another process has taken the port.
    this.#clock
      .sleep(forMs, rule.end.signal)
      .then(() => this.#bringUp(rule))
      .catch(() => undefined);
  }

  async #bringUp(rule: Active): Promise<void> {
    if (rule.end.signal.aborted || rule.parsed.action.kind !== 'down') return;
    rule.end.abort();
    if (rule.fired > 0) await this.#forServers(rule, false);
  }

  async #forServers(rule: Active, down: boolean): Promise<void> {
    const covered = this.#servers().filter((server) => ruleCovers(rule.parsed, server));
    await Promise.all(covered.map((server) => this.#setDown(server, down)));
  }
}

function isAbout(rule: TroubleRule, { server, object, job }: TroubleRequest): boolean {
  if (!ruleCovers(rule, server) || !matches(rule.glob, object)) return false;
  return rule.job === undefined || (job !== undefined && path.posix.matchesGlob(job, rule.job));
}

function matches(glob: string | undefined, object: string): boolean {
  if (glob === undefined) return true;
  return path.posix.matchesGlob(glob.includes('/') ? object : path.posix.basename(object), glob);
}

/** How much of a pause is caught up by sending faster: a reader's pause must not cause a burst. */
const catchUpMs = 50;

/** Lets bytes pass at a steady rate, in pieces of about ten milliseconds. */
export class Pacer {
  readonly pieceSize: number;
  readonly #rate: number;
  readonly #clock: Clock;
  #nextAt: number;

  constructor(rate: number, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#nextAt = clock.monotonic();
    this.pieceSize = Math.max(1, Math.min(256 * 1024, Math.ceil(rate / 100)));
  }

  /** Resolves when `bytes` more may be sent. */
  async pass(bytes: number, signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const start = Math.max(this.#nextAt, now - catchUpMs);
    this.#nextAt = start + (bytes / this.#rate) * 1000;
    if (start > now) await this.#clock.sleep(start - now, signal);
  }
}
