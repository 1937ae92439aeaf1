import path from 'node:path';
import { anyOf } from '@updraft/base';
import {
  type Argument,
  type Call,
  dottedName,
  elementsOf,
  type PythonAssignment,
  type PythonFunction,
  type Syntax,
} from './python-syntax.ts';
import { isString, type PythonNode, stringParts } from './python-tree.ts';
import type { ScriptArg } from './script-args.ts';

/**
 * What an expression evaluates to, as far as the text shows: fixed text, the value of an argument of the script, or
 * something unknown.
 */
export type Value = readonly Piece[];
export type Piece = { text: string } | { arg: ScriptArg } | { unknown: true };

interface PassedValue {
  /** Of a keyword argument. */
  name: string | undefined;
  value: Value;
}

/** Something that must hold for code to run. */
export interface Condition {
  /** Its statement, like `if args.save`. */
  text: string;
  /** What the arguments must be; undefined if the text does not show it. */
  needs: ScriptArg[] | undefined;
}

/** What a file passes to the files that it imports. */
export interface Passed {
  /** Calls of their functions and methods, by name. */
  calls: ReadonlyMap<string, { values: PassedValue[]; conditions: Condition[] }[]>;
  /** The arguments of the command line. */
  args: ScriptArg[];
}

const unknown: Value = [{ unknown: true }];
const textOf = (text: string): Value => (text === '' ? [] : [{ text }]);
export const isKnown = (value: Value): boolean => value.some((piece) => !('unknown' in piece));

/** Longer chains of names and functions are not followed. */
const deepest = 30;
const deepestCondition = 10;
/** A name that is assigned more often, or a function that is called more often, has no value worth knowing. */
const maxPlaces = 50;

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
  readonly #assigned: ReadonlyMap<string, PythonAssignment[]>;
  readonly #functions: ReadonlyMap<string, PythonFunction[]>;
  readonly #calls: ReadonlyMap<string, Call[]>;
  readonly #passed: Passed['calls'];
  readonly #file: string | undefined;
  readonly #known = new Map<PythonNode, Value>();
  #depth = 0;

  constructor(
    syntax: Syntax,
    args: readonly ScriptArg[],
    { file, calls = new Map() }: Partial<Passed> & { file?: string | undefined } = {},
  ) {
    [this.#syntax, this.#file, this.#passed] = [syntax, file, calls];
    this.#byDest = new Map(args.map((arg) => [arg.dest, arg]));
    this.#assigned = Map.groupBy(syntax.assignments, ({ name }) => name);
    this.#functions = Map.groupBy(syntax.functions, ({ name }) => name);
    this.#calls = ownCalls(syntax);
  }

  of(node: PythonNode | undefined): Value {
    const known = node && this.#known.get(node);
    if (node === undefined || known !== undefined || this.#depth > deepest) return known ?? unknown;
    // A name that is assigned from itself meets this value.
    this.#known.set(node, unknown);
    this.#depth += 1;
    const found = this.#expression(node);
    this.#depth -= 1;
    const value = found.length > maxPlaces ? unknown : found;
    this.#known.set(node, value);
    return value;
  }

  #expression(node: PythonNode): Value {
    const { kind, children, text } = node;
    const [first, second, third] = children;
    if (isString(node)) return this.#string(node);
    if (kind === 'ContinuedString') return children.flatMap((part) => this.#string(part));
    if (kind === 'Number') return textOf(text);
    if (kind === 'None') return [];
    if (kind === 'ParenthesizedExpression' || kind === 'AwaitExpression') return this.of(second);
    if (kind === 'NamedExpression') return this.of(third);
    if (kind === 'ConditionalExpression') return this.#either(first, children[4]);
    if (kind === 'BinaryExpression') return this.#binary(node);
    if (kind === 'CallExpression') return this.#call(node);
    if (second?.text === '[') return this.#element(node);
    const name = dottedName(node);
    if (name === '__file__' && this.#file !== undefined) return textOf(this.#file);
    const above = third?.text === 'parent' ? folderOf(this.of(first)) : unknown;
    if (isKnown(above)) return above;
    return name === undefined ? unknown : this.#named(name, node);
  }

  #either(first: PythonNode | undefined, second: PythonNode | undefined): Value {
    const value = this.of(first);
    return isNothing(value) ? this.of(second) : value;
  }

  #binary({ children: [left, operator, right] }: PythonNode): Value {
    const sign = operator?.text;
    if (sign === 'or') return this.#either(left, right);
    if (sign === '+') return [...this.of(left), ...this.of(right)];
    if (sign === '/') return joined([this.of(left), this.of(right)]);
    if (sign !== '%' || right === undefined) return unknown;
    const filling = elementsOf(right);
    return this.#formatted(this.of(left), /(%[-+ #0-9.]*[a-zA-Z])/, (index) =>
      inText(this.of(filling[index])),
    );
  }

  /** `config["out"]`: an argument, or what a dictionary of the file has. */
  #element({ children: [object, , key] }: PythonNode): Value {
    const name = dottedName(object);
    if (name === undefined || key?.kind !== 'String') return unknown;
    const word = stringParts(key).text;
    const arg = namespaces.test(lastOf(name)) ? this.#byDest.get(word) : undefined;
    if (arg !== undefined) return [{ arg }];
    const pairs = this.#visible(name, key)?.children ?? [];
    const at = pairs.findIndex((pair) => pair.kind === 'String' && stringParts(pair).text === word);
    return at < 0 || pairs[at + 1]?.kind !== ':' ? unknown : this.of(pairs[at + 2]);
  }

  #string(node: PythonNode): Value {
    const { text, prefix, quote } = stringParts(node);
    if (prefix.includes('b')) return unknown;
    const plain = (one: string): Value =>
      textOf(prefix.includes('r') ? one : one.replaceAll(/\\(\r?\n|.)/g, (_, mark: string) => escaped(mark)));
    if (node.kind === 'String') return plain(text);
    const start = node.from + prefix.length + quote.length;
    let at = 0;
    const pieces: Piece[] = [];
    const until = (end: number): void => {
      pieces.push(...plain(text.slice(at, end).replaceAll(/\{\{|\}\}/g, (two) => two.slice(1))));
    };
    for (const place of node.children) {
      if (place.kind !== 'FormatReplacement') continue;
      until(place.from - start);
      pieces.push(...inText(this.of(place.children[1])));
      at = place.to - start;
    }
    until(text.length);
    return pieces;
  }

  /** A string with places for values, like `"%s.pt"` or `"{}.pt".format`; `fill` gives the value for each. */
  #formatted(format: Value, place: RegExp, fill: (index: number, name: string) => Value): Value {
    let count = 0;
    return format.flatMap((piece): Value => {
      if (!('text' in piece)) return [piece];
      return piece.text
        .split(place)
        .flatMap((part, index) => (index % 2 === 0 ? textOf(part) : fill(count++, part)));
    });
  }

  #call(node: PythonNode): Value {
    const call = this.#syntax.callOf.get(node);
    if (call === undefined) return unknown;
    const { name, args, receiver } = call;
    const plain = args.filter((one) => one.name === undefined).map(({ value }) => value);
    const [first, second] = plain;
    if (joins.test(name) && plain.length > 1) return joined(plain.map((one) => this.of(one)));
    if (transparent.test(name) && first !== undefined) return this.of(first);
    if (withDefault.test(name)) return this.of(second);
    const method = lastOf(name);
    if (name === 'os.path.dirname') return folderOf(this.of(first));
    if (receiver !== undefined && method === 'joinpath')
      return joined([receiver, ...plain].map((one) => this.of(one)));
    if (receiver !== undefined && method === 'format')
      return this.#formatted(this.of(receiver), /(\{[^{}]*\})/, (index, place) => {
        const word = /^\{(\w*)/.exec(place)?.[1] ?? '';
        const value = /^\d*$/.test(word)
          ? plain[word === '' ? index : Number(word)]
          : args.find((one) => one.name === word)?.value;
        return inText(this.of(value));
      });
    if (receiver !== undefined && sameText.test(method)) return this.of(receiver);
    const [own, ...others] = this.#functions.get(method) ?? [];
    return others.length > 0 ? unknown : this.of(own?.returned);
  }

  /** What a name was last assigned: in the function that uses it, then in those around it, then in the file. */
  #visible(name: string, node: PythonNode): PythonNode | undefined {
    const all = this.#assigned.get(name) ?? [];
    if (all.length > maxPlaces) return undefined;
    for (const scope of scopesAround(node)) {
      const inside = all.filter((one) => one.node.scope === scope);
      const found = inside.findLast((one) => one.node.from < node.from) ?? inside[0];
      if (found !== undefined) return found.value;
    }
    // An attribute of an object is set in another method.
    return name.includes('.') ? all[0]?.value : undefined;
  }

  /** What the calls of a function pass to one of its parameters, or its default. */
  #parameter(name: string, node: PythonNode): Value | undefined {
    for (const scope of scopesAround(node)) {
      const own = scope && this.#syntax.functionOf.get(scope);
      const at = own?.parameters.findIndex((one) => one.name === name) ?? -1;
      if (own === undefined || at < 0) continue;
      const calls = (this.#calls.get(own.name) ?? []).slice(0, maxPlaces);
      const outer = this.#passed.get(own.name) ?? [];
      for (const values of [
        ...calls.map(({ args }) => this.valuesOf(args)),
        ...outer.map((one) => one.values),
      ]) {
        const plain = values.filter((one) => one.name === undefined);
        const { value = unknown } = values.find((one) => one.name === name) ?? plain[at] ?? {};
        if (isKnown(value)) return value;
      }
      const arg = this.#byDest.get(name);
      if (arg !== undefined && calls.some(({ args }) => args.some(({ star }) => star === '**')))
        return [{ arg }];
      return this.of(own.parameters[at]?.standard);
    }
    return undefined;
  }

  #named(name: string, node: PythonNode): Value {
    const parts = name.split('.');
    const [last = '', space = ''] = [parts.at(-1), parts.at(-2)];
    const arg = this.#byDest.get(last);
    if (
      arg !== undefined &&
      (this.#isNamespace(space, node) || (parts.length === 1 && arg.isVariable === true))
    )
      return [{ arg }];
    const chosen = this.#visible(name, node);
    if (chosen === undefined) return this.#parameter(name, node) ?? unknown;
    const value = this.of(chosen);
    // A number that is assigned may change; only constants and arguments keep theirs.
    const isNumber = value.length === 1 && /^\d/.test(textIn(value[0])) && !/^[A-Z_\d]+$/.test(last);
    return isNumber ? unknown : value;
  }

  #isNamespace(name: string, node: PythonNode): boolean {
    if (namespaces.test(name)) return true;
    const call = this.#syntax.callOf.get(this.#visible(name, node) ?? node);
    return call !== undefined && /(^|\.)(parse|get)_(known_)?args$/.test(call.name);
  }

  valuesOf(args: readonly Argument[]): PassedValue[] {
    const plain = args.filter(({ star }) => star === undefined).slice(0, maxPlaces);
    return plain.map(({ name, value }) => ({ name, value: this.of(value) }));
  }

  /**
   * The arguments that must be given for a condition to hold; undefined if the text does not show it. Whether it
   * concerns one process of several, or the first start, does not matter: some process does it.
   */
  needed(node: PythonNode | undefined, wanted = true, depth = 0): ScriptArg[] | undefined {
    if (node === undefined || depth > deepestCondition) return undefined;
    const { kind, children, text } = node;
    const [left, operator, right] = children;
    if (kind === 'ParenthesizedExpression') return this.needed(operator, wanted, depth + 1);
    if (kind === 'UnaryExpression' && left?.text === 'not') return this.needed(operator, !wanted, depth + 1);
    if (kind === 'Boolean' || kind === 'Number')
      return /^(True|[1-9].*)$/.test(text) === wanted ? [] : undefined;
    if (kind === 'BinaryExpression' && /^(and|or)$/.test(operator?.text ?? '')) {
      const [one, other] = [left, right].map((part) => this.needed(part, wanted, depth + 1));
      if ((operator?.text === 'and') !== wanted) return one ?? other;
      return one === undefined || other === undefined ? undefined : [...one, ...other];
    }
    if (someProcess.test(text.slice(0, 200))) return [];
    if (kind === 'BinaryExpression' && left !== undefined) return this.#compared(node, wanted, depth);
    const name = dottedName(node);
    const value = name === undefined && kind !== 'MemberExpression' ? unknown : this.of(node);
    const [piece] = value;
    if (piece !== undefined && 'arg' in piece) return given(piece.arg, wanted);
    const chosen = name === undefined ? undefined : this.#visible(name, node);
    return isKnown(value) ? (wanted ? [] : undefined) : this.needed(chosen, wanted, depth + 1);
  }

  /** `args.x is not None`, `args.mode == "train"`, `args.interval > 0`. */
  #compared({ children }: PythonNode, wanted: boolean, depth: number): ScriptArg[] | undefined {
    const [left, right] = [children[0], children.at(-1)];
    const sign = children
      .slice(1, -1)
      .map(({ text }) => text)
      .join(' ');
    const isSame = /^(is|==)$/.test(sign) === wanted;
    if (!/^(is|==|is not|!=)$/.test(sign) || right === undefined) return undefined;
    if (right.kind === 'Boolean') return this.needed(left, (right.text === 'True') === isSame, depth + 1);
    const [[piece], [other]] = [this.of(left), this.of(right)];
    if (piece === undefined || !('arg' in piece)) return undefined;
    if (right.kind === 'None') return given(piece.arg, !isSame);
    return (piece.arg.default === textIn(other)) === isSame ? [] : undefined;
  }
}

/** Conditions that hold in some process of every training. */
const someProcess = /rank|is_main|main_process|is_master|master|local_process|is_world/i;

const off = /^(|None|False|false|0|0\.0)$/;

/** The argument itself if its default does not have the truth that is wanted. */
function given(arg: ScriptArg, wanted: boolean): ScriptArg[] | undefined {
  const isOn = arg.isSwitch ? arg.isOn === true : arg.isComputed === true || !off.test(arg.default ?? '');
  return isOn === wanted || arg.isRequired ? [] : wanted || arg.isSwitch ? [arg] : undefined;
}

/** Calls of what the file itself defines, perhaps. */
export const ownCalls = ({ calls }: Syntax): Map<string, Call[]> =>
  Map.groupBy(
    calls.filter(({ isImported }) => !isImported),
    ({ shown }) => lastOf(shown),
  );
export const lastOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The functions around a node, innermost first, and then the file. */
function* scopesAround(node: PythonNode): Generator<PythonNode | undefined> {
  let scope = node.scope;
  for (; scope !== undefined; scope = scope.scope) yield scope;
  yield undefined;
}

/** A number in a name is a counter, unless it is an argument. */
const inText = (value: Value): Value =>
  value.length === 1 && /^\d/.test(textIn(value[0])) ? unknown : value;
const textIn = (piece: Piece | undefined): string =>
  piece !== undefined && 'text' in piece ? piece.text : '';
const isNothing = (value: Value): boolean =>
  value.every((piece) => 'unknown' in piece || ('arg' in piece && piece.arg.default === undefined));
/** The folder of a path, if all of it is known. */
const folderOf = (value: Value): Value =>
  value.every((piece) => 'text' in piece) ? textOf(path.posix.join(namePattern(value), '..')) : unknown;
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
