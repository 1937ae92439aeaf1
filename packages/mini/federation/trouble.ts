import { given } from '@updraft/base';
import path from 'node:path';
import type { Clock } from '@updraft/base';

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
    return given(
      slow !== undefined && new Pacer(slow.rate, this.#clock),
      ...(limit?.pacer ? [limit.pacer] : []),
    );
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

/** A trouble rule that cannot be parsed; the message names the word and what was expected. */
export class TroubleSyntaxError extends Error {
  constructor(text: string, problem: string) {
    super(`trouble '${text}': ${problem}`);
    this.name = 'TroubleSyntaxError';
  }
}

/** Parses one rule (docs/mini-federation.md has the grammar), as in `cache-1: stall after 1MB on *.tar first 2`. */
export function parseTrouble(text: string): TroubleRule {
  const words = new RuleReader(text);
  const server = words.server();
  const action = parseAction(words);
  const rule: TroubleRule = {
    text: text.trim(),
    server,
    action,
    glob: undefined,
    skip: 0,
    first: undefined,
    every: 1,
    job: undefined,
    forMs: undefined,
    lastingMs: undefined,
    onceSent: undefined,
  };
  while (!words.atEnd) parseSchedule(words, rule);
  checkDown(rule, words);
  return rule;
}

function parseSchedule(words: RuleReader, rule: TroubleRule): void {
  const word = words.next('a schedule word');
  if (word === 'on') rule.glob = words.next('a pattern');
  else if (word === 'from') rule.job = words.next('a pattern');
  else if (word === 'first') rule.first = words.count();
  else if (word === 'skip') rule.skip = words.count();
  else if (word === 'every') rule.every = words.count();
  else if (word === 'for') rule.forMs = words.time();
  else if (word === 'lasting') rule.lastingMs = words.time();
  else if (word === 'once') {
    rule.onceSent = words.size();
    if (!words.take('sent')) words.fail(`expected 'sent' after 'once SIZE'`);
  } else words.fail(`'${word}' is not one of on, from, first, skip, every, for, lasting, once`);
}

function checkDown(rule: TroubleRule, words: RuleReader): void {
  if (rule.action.kind !== 'down') return;
  const { glob, job, lastingMs, first, skip, every } = rule;
  if ([glob, job, lastingMs, first].some((one) => one !== undefined) || skip > 0 || every > 1)
    words.fail(`'down' takes only 'for TIME' and 'once SIZE sent': a server that is down sees no requests`);
}

const simple = [
  'down',
  'html',
  'nonsense',
  'ignore-range',
  'changed',
  'digest-missing',
  'digest-mislabelled',
] as const;

function parseAction(words: RuleReader): TroubleAction {
  const word = words.next('an action');
  for (const kind of simple) if (word === kind) return { kind };
  if (/^[1-5]\d\d$/.test(word)) return parseStatus(Number(word), words);
  switch (word) {
    case 'stall':
    case 'reset':
    case 'expire-token':
      return { kind: word, after: words.take('after') ? words.size() : 0 };
    case 'truncate':
      return { kind: word, after: words.take('after') ? words.size() : 0, end: parseEnd(words) };
    case 'slow':
    case 'limit':
      return { kind: word, rate: words.rate() };
    case 'corrupt':
      return parseCorrupt(words);
    case 'delay':
    case 'digest-slow':
      return { kind: word, ms: words.time() };
    case 'wrong-size':
    case 'wrong-offset':
      return { kind: word, by: words.take('by') ? words.signedSize() : 1 };
    default:
      return words.fail(`'${word}' is not an action`);
  }
}

function parseStatus(code: number, words: RuleReader): TroubleAction {
  const retryAfterSeconds = words.take('retry-after') ? Math.ceil(words.time() / 1000) : undefined;
  return { kind: 'status', code, retryAfterSeconds };
}

function parseEnd(words: RuleReader): TruncatedEnd {
  const without = words.take('without');
  if (!without && !words.take('with')) return 'auto';
  if (words.take('trailer')) return without ? 'no-trailer' : 'trailer';
  if (!without && words.take('length')) return 'length';
  return words.fail(`expected 'with trailer', 'without trailer' or 'with length'`);
}

function parseCorrupt(words: RuleReader): TroubleAction {
  const at = words.take('at') ? words.size() : 0;
  return { kind: 'corrupt', at, length: words.take('length') ? words.size() : 1 };
}

const sizeUnits: Record<string, number> = {
  '': 1,
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};
const timeUnits: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

class RuleReader {
  readonly #text: string;
  readonly #words: string[];

  constructor(text: string) {
    this.#text = text;
    this.#words = [...text.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '');
  }

  get atEnd(): boolean {
    return this.#words.length === 0;
  }

  fail(problem: string): never {
    throw new TroubleSyntaxError(this.#text, problem);
  }

  next(expected: string): string {
    return this.#words.shift() ?? this.fail(`${expected} is missing at the end`);
  }

  take(word: string): boolean {
    if (this.#words[0] !== word) return false;
    this.#words.shift();
    return true;
  }

  server(): string {
    const word = this.next('a server');
    const name = word.endsWith(':') ? word.slice(0, -1) : '';
    if (/^(director|origin|cache-[1-9]\d*|caches|all)$/.test(name)) return name;
    return this.fail(
      `a rule starts with 'director:', 'origin:', 'cache-1:', 'caches:' or 'all:', not '${word}'`,
    );
  }

  count(): number {
    const word = this.next('a number');
    return /^[1-9]\d*$/.test(word) ? Number(word) : this.fail(`'${word}' is not a whole number above zero`);
  }

  size(): number {
    return this.#measure(this.next('a size'), sizeUnits, 'size such as 64KiB or 1MB');
  }

  signedSize(): number {
    const word = this.next('a size');
    const sign = word.startsWith('-') ? -1 : 1;
    return sign * this.#measure(word.replace(/^[-+]/, ''), sizeUnits, 'size such as 1000 or -64KiB');
  }

  time(): number {
    return this.#measure(this.next('a time'), timeUnits, 'time such as 500ms or 5s');
  }

  rate(): number {
    const word = this.next('a rate').replace(/\/s$/, '');
    const rate = this.#measure(word, sizeUnits, 'rate such as 200kB/s');
    return rate > 0 ? rate : this.fail('a rate must be above zero');
  }

  #measure(word: string, units: Record<string, number>, expected: string): number {
    const [, digits, unit] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(word) ?? [];
    const factor = unit === undefined ? undefined : units[unit];
    if (digits === undefined || factor === undefined) return this.fail(`'${word}' is not a ${expected}`);
    return Math.round(Number(digits) * factor);
  }
}
/** How a truncated body ends; `auto` is what an honest server would do. */
type TruncatedEnd = 'auto' | 'trailer' | 'no-trailer' | 'length';

/** One way in which a server misbehaves. Sizes are bytes, rates bytes per second. */
export type TroubleAction =
  | { kind: 'stall'; after: number }
  | { kind: 'reset'; after: number }
  | { kind: 'truncate'; after: number; end: TruncatedEnd }
  | { kind: 'slow'; rate: number }
  | { kind: 'limit'; rate: number }
  | { kind: 'corrupt'; at: number; length: number }
  | { kind: 'status'; code: number; retryAfterSeconds: number | undefined }
  | { kind: 'delay'; ms: number }
  | { kind: 'down' }
  | { kind: 'html' }
  | { kind: 'nonsense' }
  | { kind: 'expire-token'; after: number }
  | { kind: 'wrong-size'; by: number }
  | { kind: 'ignore-range' }
  | { kind: 'wrong-offset'; by: number }
  | { kind: 'changed' }
  | { kind: 'digest-missing' }
  | { kind: 'digest-slow'; ms: number }
  | { kind: 'digest-mislabelled' };

export type ActionOf<K extends TroubleAction['kind']> = Extract<TroubleAction, { kind: K }>;

/** What misbehaves, how, for which objects and when. */
interface TroubleRule {
  text: string;
  /** `director`, `origin`, `cache-1`…, `caches` for all of them, or `all`. */
  server: string;
  action: TroubleAction;
  /** Matched against the full object path if it contains a slash, else against the last part. */
  glob: string | undefined;
  /** Matched against the client's `X-Pelican-JobId`. */
  job: string | undefined;
  /** Spare the first n requests. */
  skip: number;
  /** Fire at most n times. */
  first: number | undefined;
  /** Fire for every nth matching request. */
  every: number;
  /** Only for this long after the rule was added. */
  forMs: number | undefined;
  /** Only for this long after it first fired. */
  lastingMs: number | undefined;
  /** Only after the server has sent this many bytes of matching objects since the rule was added. */
  onceSent: number | undefined;
}

/** What rules match: a request for an object at a server, and its job if the client names one. */
export interface TroubleRequest {
  server: string;
  object: string;
  job: string | undefined;
}

/** A rule for `caches` or `all` covers each of those servers. */
function ruleCovers(rule: TroubleRule, server: string): boolean {
  if (rule.server === 'all' || rule.server === server) return true;
  return rule.server === 'caches' && server.startsWith('cache-');
}
