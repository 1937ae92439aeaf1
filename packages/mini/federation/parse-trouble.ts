import type { TroubleAction, TroubleRule, TruncatedEnd } from './trouble-rule.ts';

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
  const proxy = words.take('by');
  if (proxy && !words.take('proxy')) words.fail(`expected 'proxy' after 'by'`);
  return { kind: 'status', code, retryAfterSeconds, proxy };
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
