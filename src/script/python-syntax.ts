import type { Token } from './python-tokens.ts';

/** A range of tokens: an expression, or part of one. */
export interface TokenRange {
  from: number;
  to: number;
}

export interface Argument extends TokenRange {
  /** Of a keyword argument. */
  name?: string;
  /** Its first word. */
  word?: string;
}

export interface Call extends TokenRange {
  /** As written: `torch.save`; `.write_text` if what it is called on is not a plain name. */
  name: string;
  line: number;
  args: Argument[];
  /** What a method is called on. */
  receiver?: TokenRange;
  /** Whether it is a definition, `def name(…)`, and not a call. */
  isDefinition: boolean;
}

/** `name = value` at the start of a statement, or the default of a parameter. */
export interface PythonAssignment extends TokenRange {
  name: string;
  line: number;
  isParameter: boolean;
  /** The function whose name this is; -1 for the file. */
  scope: number;
}

/** The calls and assignments of a file, as far as its tokens show them. */
export interface Syntax {
  tokens: readonly Token[];
  calls: Call[];
  /** By the index of the token that opens its bracket. */
  callAt: ReadonlyMap<number, Call>;
  assignments: PythonAssignment[];
  /** The index of the bracket that closes or opens the one at an index. */
  partner: ReadonlyMap<number, number>;
  /** The functions around the token at an index, by the index of their `def`, innermost first. */
  scopesAt(at: number): readonly number[];
}

interface Frame {
  open: number;
  /** Where each argument begins. */
  starts: number[];
}

/** Longer chains of methods are not followed to their start. */
const longestChain = 40;

export function readSyntax(all: readonly Token[]): Syntax {
  const tokens = all.filter(({ kind }) => kind !== 'comment');
  const scopes = new Scopes();
  const partner = new Map<number, number>();
  const callAt = new Map<number, Call>();
  const assignments: PythonAssignment[] = [];
  const frames: Frame[] = [];
  let first = 0;
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind === 'newline') {
      frames.length = 0;
      scopes.enter(tokens, first);
      assignments.push(...assigned(tokens, { from: first, to: at }, scopes.current));
      first = at + 1;
    } else if (kind !== 'op') continue;
    else if ('([{'.includes(text)) frames.push({ open: at, starts: [at + 1] });
    else if (text === ',') frames.at(-1)?.starts.push(at + 1);
    else if (')]}'.includes(text)) {
      const frame = frames.pop();
      if (frame === undefined) continue;
      partner.set(frame.open, at).set(at, frame.open);
      const call = text === ')' ? callOf(tokens, frame, at, partner) : undefined;
      if (call !== undefined) callAt.set(frame.open, call);
    }
  }
  scopes.enter(tokens, first);
  assignments.push(...assigned(tokens, { from: first, to: tokens.length }, scopes.current));
  const calls = [...callAt.values()].sort((a, b) => a.from - b.from);
  const parameters = calls.filter(({ isDefinition }) => isDefinition).flatMap(parametersOf);
  const scopesAt = (at: number): readonly number[] => scopes.at(at);
  return { tokens, calls, callAt, assignments: [...assignments, ...parameters], partner, scopesAt };
}

/** Which function each statement belongs to, by its indentation. */
class Scopes {
  readonly #open: { def: number; column: number }[] = [];
  /** Where each change of functions begins, and the functions from there on, innermost first. */
  readonly #changes: { from: number; inside: readonly number[] }[] = [{ from: 0, inside: [] }];

  get current(): number {
    return this.#changes.at(-1)?.inside[0] ?? -1;
  }

  /** Notes the statement that begins at a token. */
  enter(tokens: readonly Token[], first: number): void {
    const start = tokens[first];
    if (start === undefined || start.kind === 'newline') return;
    const before = this.#open.length;
    while ((this.#open.at(-1)?.column ?? -1) >= start.column) this.#open.pop();
    if (this.#open.length !== before) this.#note(first);
    const def = start.text === 'async' ? first + 1 : first;
    if (tokens[def]?.text !== 'def' || this.#open.length >= longestChain) return;
    this.#open.push({ def, column: start.column });
    this.#note(def);
  }

  #note(from: number): void {
    this.#changes.push({ from, inside: this.#open.map(({ def }) => def).reverse() });
  }

  at(at: number): readonly number[] {
    let [low, high] = [0, this.#changes.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#changes[middle]?.from ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return this.#changes[low]?.inside ?? [];
  }
}

function callOf(
  tokens: readonly Token[],
  { open, starts }: Frame,
  close: number,
  partner: ReadonlyMap<number, number>,
): Call | undefined {
  const last = tokens[open - 1];
  if (last?.kind !== 'name' || /^(if|in|and|or|not|return|print|lambda|else|is|for|while)$/.test(last.text))
    return undefined;
  const args = starts
    .map((from, index) => ({ from, to: (starts[index + 1] ?? close + 1) - 1 }))
    .filter(({ from, to }) => to > from)
    .map((span) => named(tokens, span));
  const [from, name] = chainBefore(tokens, open - 1, partner);
  const isMethod = tokens[open - 2]?.text === '.';
  return {
    name,
    from,
    to: close + 1,
    line: last.line,
    args,
    ...(isMethod && { receiver: { from, to: open - 2 } }),
    isDefinition: tokens[from - 1]?.text === 'def',
  };
}

/** Where the expression that ends with the name at `at` begins, and its dotted name. */
function chainBefore(
  tokens: readonly Token[],
  at: number,
  partner: ReadonlyMap<number, number>,
): [number, string] {
  let [from, name, isPlain] = [at, tokens[at]?.text ?? '', true];
  for (let steps = 0; steps < longestChain && tokens[from - 1]?.text === '.'; steps++) {
    let before = from - 2;
    while (partner.get(before) !== undefined && /^[)\]}]$/.test(tokens[before]?.text ?? '')) {
      const open = partner.get(before) ?? before;
      isPlain = false;
      if (tokens[open - 1]?.kind !== 'name' && !/^[)\]}]$/.test(tokens[open - 1]?.text ?? ''))
        return [open, `.${name}`];
      before = open - 1;
    }
    const one = tokens[before];
    if (one?.kind === 'string') return [before, `.${name}`];
    if (one?.kind !== 'name') break;
    from = before;
    if (isPlain) name = `${one.text}.${name}`;
  }
  return [from, isPlain ? name : `.${name.split('.').at(-1) ?? ''}`];
}

/** `name=value`, in a definition also `name: type = value`. */
function named(tokens: readonly Token[], { from, to }: TokenRange): Argument {
  const [name, next] = [tokens[from], tokens[from + 1]?.text];
  if (name?.kind !== 'name') return { from, to };
  if (next !== '=' && next !== ':') return { from, to, word: name.text };
  for (let at = from + 1; at < Math.min(to - 1, from + longestChain); at++)
    if (tokens[at]?.text === '=') return { name: name.text, from: at + 1, to };
  return { from, to, word: name.text };
}

/** `a.b: type = value`; of `a = b = value` only the first name. */
function assigned(tokens: readonly Token[], { from, to }: TokenRange, scope: number): PythonAssignment[] {
  let at = from;
  while (at + 2 < to && tokens[at]?.kind === 'name' && tokens[at + 1]?.text === '.') at += 2;
  if (tokens[at]?.kind !== 'name') return [];
  const name = tokens
    .slice(from, at + 1)
    .map(({ text }) => text)
    .join('');
  const line = tokens[from]?.line ?? 1;
  if (tokens[at + 1]?.text === ':')
    for (let next = at + 2; next < Math.min(to, at + 40); next++)
      if (tokens[next]?.text === '=') return [{ name, line, from: next + 1, to, isParameter: false, scope }];
  return tokens[at + 1]?.text === '=' ? [{ name, line, from: at + 2, to, isParameter: false, scope }] : [];
}

/** All parameters: one without a default has an empty range, which has no value. */
const parametersOf = ({ args, line, from: name }: Call): PythonAssignment[] =>
  args.map(({ name: own, from, to, word }) => ({
    name: own ?? word ?? '',
    line,
    from,
    to: own === undefined ? from : to,
    isParameter: true,
    scope: name - 1,
  }));
