import { anyOf } from '@updraft/base';
import type { PythonAssignment, Call, TokenRange, Syntax } from './python-syntax.ts';
import type { Token } from './python-tokens.ts';
import type { ScriptArg } from './script-args.ts';

/**
 * What an expression evaluates to, as far as the text shows: fixed text, the value of an argument of the script, or
 * something unknown.
 */
export type Value = readonly Piece[];
export type Piece = { text: string } | { arg: ScriptArg } | { unknown: true };

const unknown: Value = [{ unknown: true }];
const textOf = (text: string): Value => (text === '' ? [] : [{ text }]);

/** Longer expressions are data. */
const longestExpression = 300;
const deepest = 12;
/** A name that is assigned more often has no value worth knowing. */
const maxAssignments = 50;

/** Names that scripts give to their parsed arguments. */
const namespaces =
  /^(args|arg|opt|opts|options|flags|FLAGS|cfg|config|conf|hparams|hp|params|arguments|\w+_args)$/;

/** Functions whose value is that of their first argument. */
const transparent = new RegExp(
  `^(?:${anyOf(String.raw`
    (pathlib\.)?(Pure)?(Posix)?Path str os\.fspath
    (os\.path|osp)\.(expanduser|expandvars|abspath|realpath|normpath) open
  `)})$`,
);
const joins = /^((os\.path|osp|posixpath|path)\.join|join|(pathlib\.)?Path)$/;
const withDefault = /^(os\.environ\.get|os\.getenv|getenv|environ\.get)$/;
const sameText =
  /^(expanduser|absolute|resolve|as_posix|strip|rstrip|lstrip|lower|with_name|__str__|format)$/;

/** Evaluates expressions of a file without running anything. */
export class StaticValues {
  readonly #syntax: Syntax;
  readonly #byDest: ReadonlyMap<string, ScriptArg>;
  readonly #assigned = new Map<string, PythonAssignment[]>();
  readonly #known = new Map<number, Value>();

  constructor(syntax: Syntax, args: readonly ScriptArg[]) {
    this.#syntax = syntax;
    this.#byDest = new Map(args.map((arg) => [arg.dest, arg]));
    for (const one of syntax.assignments) {
      const list = this.#assigned.get(one.name) ?? [];
      this.#assigned.set(one.name, list);
      if (list.length < maxAssignments) list.push(one);
    }
  }

  of(span: TokenRange, depth = 0): Value {
    if (depth > deepest || span.to - span.from > longestExpression || span.to <= span.from) return unknown;
    const key = span.from * 2 ** 26 + span.to;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    // A name that is assigned from itself meets this value.
    this.#known.set(key, unknown);
    const value = this.#expression(span, depth);
    this.#known.set(key, value);
    return value;
  }

  #expression(span: TokenRange, depth: number): Value {
    const { from, to } = this.#unwrapped(span);
    const at = (text: string): number => this.#topLevel({ from, to }, text);
    const [condition, or] = [at('if'), at('or')];
    if (condition > from) return this.of({ from, to: condition }, depth + 1);
    if (or > from) {
      const first = this.of({ from, to: or }, depth + 1);
      return isNothing(first) ? this.of({ from: or + 1, to }, depth + 1) : first;
    }
    const plus = at('+');
    if (plus > from)
      return [...this.of({ from, to: plus }, depth + 1), ...this.of({ from: plus + 1, to }, depth + 1)];
    const percent = at('%');
    if (percent > from) return this.#filled({ from, to: percent }, { from: percent + 1, to }, depth);
    const slash = this.#topLevel({ from, to }, '/', true);
    if (slash > from)
      return joined([this.of({ from, to: slash }, depth + 1), this.of({ from: slash + 1, to }, depth + 1)]);
    return this.#primary({ from, to }, depth);
  }

  #unwrapped({ from, to }: TokenRange): TokenRange {
    const { tokens, partner } = this.#syntax;
    let span = { from, to };
    while (
      tokens[span.from]?.text === '(' &&
      tokens[span.from]?.kind === 'op' &&
      partner.get(span.from) === span.to - 1
    )
      span = { from: span.from + 1, to: span.to - 1 };
    return span;
  }

  /** The first (or last) place of an operator outside brackets, or -1. */
  #topLevel({ from, to }: TokenRange, text: string, last = false): number {
    const { tokens, partner } = this.#syntax;
    let found = -1;
    for (let at = from; at < to; at++) {
      const token = tokens[at];
      if (token?.kind === 'string') continue;
      if (token?.text === text) {
        found = at;
        if (!last) return found;
      }
      const close = partner.get(at);
      if (close !== undefined && close > at) at = close;
    }
    return found;
  }

  #primary({ from, to }: TokenRange, depth: number): Value {
    const { tokens, callAt } = this.#syntax;
    const first = tokens[from];
    const last = tokens[to - 1];
    if (first === undefined || last === undefined) return unknown;
    if (last.kind === 'string') return this.#strings({ from, to }, depth);
    if (first.kind === 'number' && to === from + 1) return textOf(first.text);
    if (last.text === ')') {
      const open = this.#syntax.partner.get(to - 1);
      const call = open === undefined ? undefined : callAt.get(open);
      return call !== undefined && call.from === from ? this.#call(call, depth) : unknown;
    }
    const words = tokens.slice(from, to);
    if (!words.every(({ kind, text }) => kind === 'name' || text === '.')) return unknown;
    return this.named(words.map(({ text }) => text).join(''), from, depth);
  }

  /** Adjacent literals are one string. */
  #strings({ from, to }: TokenRange, depth: number): Value {
    const parts = this.#syntax.tokens.slice(from, to);
    if (!parts.every(({ kind }) => kind === 'string')) return unknown;
    return parts.flatMap((part) => this.#string(part, from, depth));
  }

  #string({ text, prefix = '' }: Token, at: number, depth: number): Value {
    if (prefix.includes('b')) return unknown;
    const plain = prefix.includes('r')
      ? text
      : text.replaceAll(/\\(\r?\n|.)/g, (_, one: string) => escaped(one));
    if (!prefix.includes('f')) return textOf(plain);
    const pieces = plain.split(/(\{\{|\}\}|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/);
    return pieces.flatMap((piece): Value => {
      if (piece === '{{' || piece === '}}') return textOf(piece.slice(1));
      if (!piece.startsWith('{')) return textOf(piece);
      const name = /^\{\s*([\w.]+)\s*(?:![rsa])?(?::[^{}]*)?=?\}$/.exec(piece)?.[1];
      return name === undefined ? unknown : this.named(name, at, depth + 1);
    });
  }

  /** A string with places for values, like `"%s.pt"` or `"{}.pt".format`; `fill` gives the value for each. */
  #formatted(
    span: TokenRange,
    place: RegExp,
    depth: number,
    fill: (index: number, name: string) => Value,
  ): Value {
    let count = 0;
    return this.of(span, depth + 1).flatMap((piece): Value => {
      if (!('text' in piece)) return [piece];
      return piece.text
        .split(place)
        .flatMap((part, index) => (index % 2 === 0 ? textOf(part) : fill(count++, part)));
    });
  }

  /** `"%s.pt" % name`, `"%s-%d" % (name, number)`. */
  #filled(text: TokenRange, right: TokenRange, depth: number): Value {
    const { from, to } = this.#unwrapped(right);
    const spans: TokenRange[] = [];
    let [start, comma] = [from, this.#topLevel({ from, to }, ',')];
    for (; comma >= 0; comma = this.#topLevel({ from: start, to }, ',')) {
      spans.push({ from: start, to: comma });
      start = comma + 1;
    }
    spans.push({ from: start, to });
    return this.#formatted(text, /(%[-+ #0-9.]*[a-zA-Z])/, depth, (index) => {
      const span = spans[index];
      return span === undefined ? unknown : this.#inText(this.of(span, depth + 1));
    });
  }

  /** A number in a name is a counter, unless it is an argument. */
  #inText(value: Value): Value {
    return value.length === 1 && /^\d/.test(textIn(value[0])) ? unknown : value;
  }

  #call({ name, args, receiver }: Call, depth: number): Value {
    const plain = args.filter((one) => one.name === undefined);
    const [first] = plain;
    if (joins.test(name) && plain.length > 1) return joined(plain.map((one) => this.of(one, depth + 1)));
    if (transparent.test(name) && first !== undefined) return this.of(first, depth + 1);
    const second = plain[1];
    if (withDefault.test(name)) return second === undefined ? unknown : this.of(second, depth + 1);
    const method = name.split('.').at(-1) ?? '';
    if (receiver === undefined || !sameText.test(method)) {
      if (receiver !== undefined && method === 'joinpath')
        return joined([receiver, ...plain].map((one) => this.of(one, depth + 1)));
      return unknown;
    }
    return method === 'format'
      ? this.#formatted(receiver, /(\{[^{}]*\})/, depth, (index, place) => {
          const word = /^\{(\w*)/.exec(place)?.[1] ?? '';
          const span = /^\d*$/.test(word)
            ? plain[word === '' ? index : Number(word)]
            : args.find((one) => one.name === word);
          return span === undefined ? unknown : this.#inText(this.of(span, depth + 1));
        })
      : this.of(receiver, depth + 1);
  }

  /** What a name was last assigned: in the function that uses it, then in those around it, then in the file. */
  #visible(name: string, at: number): PythonAssignment | undefined {
    const all = this.#assigned.get(name) ?? [];
    for (const scope of [...this.#syntax.scopesAt(at), -1]) {
      const inside = all.filter((one) => one.scope === scope);
      const written = inside.filter(({ isParameter }) => !isParameter);
      const found =
        written.findLast(({ from }) => from < at) ?? inside.find((one) => one.isParameter) ?? written[0];
      if (found !== undefined) return found;
    }
    // An attribute of an object is set in another method.
    return name.includes('.') ? all[0] : undefined;
  }

  /** The value of a name where the token at `at` stands: an argument, or what was last assigned before. */
  named(name: string, at: number, depth = 0): Value {
    const parts = name.split('.');
    const [last = '', space = ''] = [parts.at(-1), parts.at(-2)];
    const arg = this.#byDest.get(last);
    if (arg !== undefined && (namespaces.test(space) || (parts.length === 1 && arg.isVariable === true)))
      return [{ arg }];
    if (/^(None|True|False)$/.test(name)) return last === 'None' ? [] : unknown;
    const chosen = this.#visible(name, at);
    if (chosen === undefined) return unknown;
    const value = this.of(chosen, depth + 1);
    // A number that is assigned may change; only constants and arguments keep theirs.
    const isNumber = value.length === 1 && /^\d/.test(textIn(value[0])) && !/^[A-Z_\d]+$/.test(last);
    return isNumber ? unknown : value;
  }
}

const textIn = (piece: Piece | undefined): string =>
  piece !== undefined && 'text' in piece ? piece.text : '';
const isNothing = (value: Value): boolean =>
  value.every((piece) => 'unknown' in piece || ('arg' in piece && piece.arg.default === undefined));
const escaped = (one: string): string => ({ n: '\n', t: '\t' })[one] ?? (/^\r?\n$/.test(one) ? '' : one);

function joined(parts: readonly Value[]): Value {
  return parts.reduce((left, right) => {
    if (left.length === 0 || textIn(right[0]).startsWith('/')) return right;
    return right.length === 0 || textIn(left.at(-1)).endsWith('/')
      ? [...left, ...right]
      : [...left, { text: '/' }, ...right];
  }, []);
}

/** A value as a pattern: `*` for what is unknown; arguments have the value that `valueOf` gives, or their default. */
export function namePattern(
  value: Value,
  valueOf: (arg: ScriptArg) => string | undefined = (arg) => arg.default,
): string {
  return value
    .map((piece) => ('text' in piece ? piece.text : 'arg' in piece ? (valueOf(piece.arg) ?? '*') : '*'))
    .join('')
    .replaceAll(/\*+/g, '*');
}
