import path from 'node:path';
import type { ExpansionBudget } from './expansion-budget.ts';

/** What an expansion may see: macros by name, the submitter's environment and folder, and a record of the names looked up. */
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
export const isMacroFunction = (name: string): boolean =>
  functions.has(name) || /^F[pnxdqabfwu]*$/i.test(name);

type Expand = (text: string) => string;

/** The value of `$NAME(body)`; what HTCondor would refuse or choose at random becomes its nearest plain value. */
export function callMacroFunction(name: string, body: string, scope: Scope, expand: Expand): string {
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
