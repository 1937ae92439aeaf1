import { refersToItself } from './expansion-budget.ts';
import { callMacroFunction, isMacroFunction, type Scope } from './macro-functions.ts';

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
