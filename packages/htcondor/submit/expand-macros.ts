import path from 'node:path';

interface Call {
  start: number;
  end: number;
  /** Empty for `$(name)`. */
  func: string;
  body: string;
}

/**
 * Expands `$(name)`, `$(name:default)` and the `$FUNC()`s as HTCondor does: the first one whose body holds no
 * other macro goes first, again and again, and `$(DOLLAR)` last. `$$()` belongs to the matched machine and stays.
 */
export function expandMacros(text: string, scope: Scope): string {
  scope.budget.spendAll('', 50);
  let current = text;
  const seen = new Set<string>();
  for (;;) {
    const call = nextCall(current, (found) => !isDollar(found));
    if (call === undefined) break;
    scope.budget.spend(current);
    if (seen.has(current)) throw refersToItself(text);
    seen.add(current);
    current = current.slice(0, call.start) + valueOf(call, scope) + current.slice(call.end);
  }
  return current.replaceAll(/(?<!\$)\$\(DOLLAR\)/gi, () => '$');
}

/** Expands only what refers to `name` itself, as an assignment does when it is read. */
export function expandSelf(text: string, name: string, value: string): string {
  const wanted = name.toLowerCase();
  const self = (found: Call): boolean => found.func === '' && nameOf(found.body) === wanted;
  let [done, rest] = ['', text];
  for (let call = nextCall(rest, self); call !== undefined; call = nextCall(rest, self)) {
    const fallback = /^[^:]*:(.*)$/s.exec(call.body)?.[1] ?? '';
    done += rest.slice(0, call.start) + (value === '' ? fallback : value);
    rest = rest.slice(call.end);
  }
  return done + rest;
}

/** The names that a text refers to by `$(name)`, `$Fn(name)` and the like; lower case. */
export function macroReferences(text: string): string[] {
  const names: string[] = [];
  for (const [, func = '', body = ''] of text.matchAll(/\$([A-Za-z_]*)\(([^()$]*)/g))
    if (func === '' || isMacroFunction(func)) names.push(...body.split(/[:,]/).map((part) => nameOf(part)));
  return names;
}

const nameOf = (body: string): string => (body.split(':')[0] ?? '').trim().toLowerCase();

const isDollar = (call: Call): boolean => call.func === '' && call.body.toUpperCase() === 'DOLLAR';

function valueOf({ func, body }: Call, scope: Scope): string {
  const expand = (text: string): string =>
    text.includes('$') ? scope.budget.nested(text, () => expandMacros(text, scope)) : text;
  if (func !== '') return callMacroFunction(func, body, scope, expand);
  const colon = body.indexOf(':');
  const name = colon < 0 ? body : body.slice(0, colon);
  const value = scope.lookup(name.trim()) ?? '';
  return value === '' && colon >= 0 ? body.slice(colon + 1) : value;
}

const callPattern = /\$([A-Za-z_]*)\(/g;
/** What HTCondor accepts as the body of `$(name:default)`; anything else is plain text to it. */
const plainBody = /^[A-Za-z0-9_.+-]*(?::[^()]*)?$/;

function nextCall(text: string, accept: (call: Call) => boolean): Call | undefined {
  let close = -1;
  for (const match of text.matchAll(callPattern)) {
    const [whole, func = ''] = match;
    if (text[match.index - 1] === '$') continue;
    if (func !== '' && !isMacroFunction(func)) continue;
    const start = match.index;
    if (close < start) close = text.indexOf(')', start);
    if (close < 0) return undefined;
    const body = text.slice(start + whole.length, close);
    // An inner macro must be expanded first; its own turn comes later in this loop.
    if (/\$[A-Za-z_]*\(/.test(body)) continue;
    if ((func === '' || func === 'ENV') && !plainBody.test(body)) continue;
    const call = { start, end: close + 1, func, body };
    if (accept(call)) return call;
  }
  return undefined;
}

/** What an expansion may see: macros by name, the submitter's environment and folder; records the names looked up. */
export interface Scope {
  lookup(name: string): string | undefined;
  env(name: string): string | undefined;
  cwd: string;
  budget: ExpansionBudget;
  /** Called for each `$RANDOM_…()`: its value here is only one of those HTCondor may choose. */
  chosen(): void;
}

const functions = new Set([
  'ENV',
  'RANDOM_CHOICE',
  'RANDOM_INTEGER',
  'CHOICE',
  'SUBSTR',
  'INT',
  'REAL',
  'STRING',
  'EVAL',
  'BASENAME',
  'DIRNAME',
]);

/** Function names are upper case only; `$Fpn()` and the like are F with any of its letters. */
const isMacroFunction = (name: string): boolean => functions.has(name) || /^F[pnxdqabfwu]*$/i.test(name);

type Expand = (text: string) => string;

/** The value of `$NAME(body)`; what HTCondor would refuse or choose at random becomes its nearest plain value. */
function callMacroFunction(name: string, body: string, scope: Scope, expand: Expand): string {
  const named = (text: string): string => expand(scope.lookup(text.trim()) ?? text);
  const parts = body.split(',');
  switch (name) {
    case 'ENV':
      return environment(body, scope);
    case 'RANDOM_CHOICE':
      scope.chosen();
      return (parts.length === 1 ? named(body).split(',') : parts)[0]?.trim() ?? '';
    case 'RANDOM_INTEGER':
      scope.chosen();
      return parts[0]?.trim() ?? '';
    case 'CHOICE':
      return choice(parts, named);
    case 'SUBSTR':
      return substring(parts, scope, expand, named);
    case 'INT':
    case 'REAL':
      return formatNumber(named(parts[0] ?? ''), parts[1], name === 'INT');
    case 'STRING':
      return printf(parts[1] ?? '%s', unquoted(named(parts[0] ?? '')));
    case 'EVAL':
      return evaluated(named(body));
    case 'BASENAME': {
      const base = path.posix.basename(unquoted(named(parts[0] ?? '')));
      const suffix = parts[1]?.trim() ?? '';
      return suffix !== '' && base.toLowerCase().endsWith(suffix.toLowerCase())
        ? base.slice(0, -suffix.length)
        : base;
    }
    case 'DIRNAME':
      return filePart('p', named(body), scope.cwd);
    default:
      return filePart(name.slice(1), named(body), scope.cwd);
  }
}

function environment(body: string, scope: Scope): string {
  const colon = body.indexOf(':');
  const name = colon < 0 ? body : body.slice(0, colon);
  return scope.env(name) ?? (colon < 0 ? 'UNDEFINED' : body.slice(colon + 1));
}

function choice(parts: string[], named: Expand): string {
  const index = evaluateNumber(named(parts[0] ?? '')) ?? 0;
  const items = parts.length === 2 ? named(parts[1] ?? '').split(',') : parts.slice(1);
  return items[index]?.trim() ?? '';
}

function substring(parts: string[], scope: Scope, expand: Expand, named: Expand): string {
  const raw = scope.lookup(parts[0]?.trim() ?? '');
  const start = evaluateNumber(named(parts[1] ?? ''));
  if (raw === undefined || start === undefined) return '';
  const text = expand(raw);
  const from = Math.min(Math.max(start < 0 ? text.length + start : start, 0), text.length);
  const length = parts[2] === undefined ? Infinity : (evaluateNumber(named(parts[2])) ?? 0);
  const left = text.length - from;
  const count = Math.max(0, Math.min(left, length < 0 ? left + length : length));
  return text.slice(from, from + count);
}

function formatNumber(text: string, format: string | undefined, whole: boolean): string {
  const value = evaluateNumber(text);
  if (value === undefined) return '';
  if (whole) return printf(format ?? '%d', String(Math.trunc(value)));
  const digits = /^%[-+ 0#]*\d*\.(\d+)f$/.exec(format ?? '')?.[1];
  return digits === undefined
    ? String(value)
    : printf(format ?? '%s', value.toFixed(Math.min(Number(digits), maxDigits)));
}

/** Longer than any file name, within what JavaScript can print. */
const maxDigits = 100;

/** Width, zero padding and left alignment of one `%` directive; the conversion is already done. */
function printf(format: string, value: string): string {
  return format.replace(
    /%([-+ 0#]*)(\d*)(?:\.\d+)?(?:ll|l)?[dDifFgGseExXu]/,
    (_all, flags: string, width: string) => {
      const wide = Math.min(Number(width === '' ? 0 : width), maxDigits);
      if (flags.includes('-')) return value.padEnd(wide);
      if (!flags.includes('0')) return value.padStart(wide);
      const sign = value.startsWith('-') ? '-' : '';
      return sign + value.slice(sign.length).padStart(wide - sign.length, '0');
    },
  );
}

const unquoted = (text: string): string => /^"(.*)"$/s.exec(text.trim())?.[1] ?? text;

/** Only numbers and strings; other ClassAd expressions are left to HTCondor. */
function evaluated(text: string): string {
  const value = evaluateNumber(text);
  return value === undefined ? unquoted(text) : String(value);
}

/**
 * The parts of a file name that `$F<letters>(name)` keeps: p path, d parent folder (dd two of them), n name, x
 * extension, f full path first, b bare (no trailing slash, no leading dot), q quoted, a with single quotes.
 */
function filePart(chars: string, name: string, cwd: string): string {
  const flags = chars.toLowerCase();
  const file = fullName(unquoted(name), flags, cwd);
  const quote = !flags.includes('q') ? '' : flags.includes('a') ? "'" : '"';
  return quote + selectPart(file, flags) + quote;
}

function fullName(name: string, flags: string, cwd: string): string {
  const slashes = flags.includes('u') ? name.replaceAll('\\', '/') : name;
  if (!flags.includes('f') || slashes.startsWith('/')) return slashes;
  return `${cwd.replace(/\/$/, '')}/${slashes.replace(/^\.\/(?=.)/, '')}`;
}

function selectPart(file: string, flags: string): string {
  const base = file.lastIndexOf('/') + 1;
  const dot = file.lastIndexOf('.');
  const extension = dot > base ? dot : file.length;
  const [wantsName, wantsExtension] = [flags.includes('n'), flags.includes('x')];
  const folders = folderPart(file, base, flags, !wantsName && !wantsExtension);
  if (folders === undefined && !wantsName && !wantsExtension) return file;
  if (!wantsName && wantsExtension && (folders ?? '') === '')
    return flags.includes('b') ? file.slice(extension + 1) : file.slice(extension);
  const end = wantsExtension ? file.length : wantsName ? extension : base;
  return (folders ?? '') + file.slice(base, end);
}

/** Undefined when no letter asks for folders. */
function folderPart(file: string, base: number, flags: string, alone: boolean): string | undefined {
  const depth = flags.length - flags.replaceAll('d', '').length;
  if (!flags.includes('p') && depth === 0) return undefined;
  const whole = file.slice(0, base);
  const part = flags.includes('p') ? whole : lastFolders(whole, depth);
  return alone && flags.includes('b') ? part.replace(/\/$/, '') : part;
}

function lastFolders(folder: string, depth: number): string {
  const names = folder.split('/').slice(0, -1);
  if (names.length === 0) return '';
  return names.length <= depth ? folder : `${names.slice(-depth).join('/')}/`;
}

/** Each nested parenthesis takes a call. */
const maxExpression = 1000;

/**
 * The value of an arithmetic expression of literal numbers, as HTCondor accepts one where it wants a count:
 * `3`, `2 * (4 + 1)`. Undefined for everything else.
 */
export function evaluateNumber(text: string): number | undefined {
  if (text.length > maxExpression) return undefined;
  const tokens = text.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[-+*/%()]|\S/g) ?? [];
  const reader = { tokens, at: 0 };
  const value = sum(reader);
  return reader.at === tokens.length && Number.isFinite(value) ? value : undefined;
}

interface Reader {
  tokens: string[];
  at: number;
}

function take(reader: Reader, wanted: string): string | undefined {
  const token = reader.tokens[reader.at];
  if (token === undefined || !wanted.includes(token)) return undefined;
  reader.at++;
  return token;
}

function sum(reader: Reader): number {
  let value = product(reader);
  for (let sign = take(reader, '+-'); sign !== undefined; sign = take(reader, '+-'))
    value += sign === '+' ? product(reader) : -product(reader);
  return value;
}

function product(reader: Reader): number {
  let value = factor(reader);
  for (let sign = take(reader, '*/%'); sign !== undefined; sign = take(reader, '*/%')) {
    const right = factor(reader);
    if (sign === '*') value *= right;
    else if (sign === '%') value %= right;
    else value = divide(value, right);
  }
  return value;
}

/** ClassAd division of integers drops the remainder. */
const divide = (left: number, right: number): number =>
  Number.isInteger(left) && Number.isInteger(right) ? Math.trunc(left / right) : left / right;

function factor(reader: Reader): number {
  if (take(reader, '-') !== undefined) return -factor(reader);
  if (take(reader, '(') !== undefined) {
    const value = sum(reader);
    return take(reader, ')') === undefined ? NaN : value;
  }
  const token = reader.tokens[reader.at];
  if (token === undefined || !/^\d/.test(token)) return NaN;
  reader.at++;
  return Number(token);
}
/** Macros that refer to themselves, directly or through others, or grow without end; the message says which. */
export class CircularMacro extends Error {}

const maxText = 1 << 20;
const maxDepth = 50;

/** What the expansions of one file may cost together, in characters read. */
export class ExpansionBudget {
  #left = 50_000_000;
  #depth = 0;

  /** Throws when the text is too long for a value, or the budget is spent. */
  spend(text: string): void {
    if (text.length > maxText)
      throw new CircularMacro(`the macros of \`${clipText(text)}\` grow without end`);
    this.spendAll(text);
  }

  /** `extra` is what work on the text costs besides reading it. */
  spendAll(text: string, extra = 500): void {
    this.#left -= text.length + extra;
    if (this.#left < 0)
      throw new CircularMacro(`reading took too long: the macros of \`${clipText(text)}\` may never end`);
  }

  /** A function's argument is expanded inside the expansion of its call. */
  nested<T>(text: string, expand: () => T): T {
    if (++this.#depth > maxDepth) throw refersToItself(text);
    try {
      return expand();
    } finally {
      this.#depth--;
    }
  }
}

const refersToItself = (text: string): CircularMacro =>
  new CircularMacro(`\`${clipText(text)}\` refers to itself`);

const clipText = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
