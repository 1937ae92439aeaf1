import { defined } from '@updraft/base';
import type { Argument, Call, TokenRange, Syntax } from './python-syntax.ts';

/** An argument that a script takes on its command line. */
export interface ScriptArg {
  /** As it is typed: `--data`, or `data` for one without a flag. */
  flag: string;
  /** The name by which the script reads it. */
  dest: string;
  /** As on a command line; undefined if there is none, or it is not written as a literal. */
  default?: string;
  /** Has a default that is not a literal. */
  isComputed?: true;
  /** The subcommand that takes it. */
  command?: string;
  help?: string;
  isRequired: boolean;
  /** Takes no value: `--fast`. */
  isSwitch: boolean;
  /** Whether its default or type is a number. */
  isNumber: boolean;
  /** Its literal choices. */
  choices?: string[];
  line: number;
  by: 'argparse' | 'click' | 'argv' | 'hugging face';
  /** Read as a variable of that name, not as a part of `args`. */
  isVariable?: true;
}

const number = /^-?(\d+\.?\d*|\.\d+)(e-?\d+)?$/;

/** The arguments of a script: argparse, click, `sys.argv`, Hugging Face's parser. */
export function scriptArgs(syntax: Syntax): ScriptArg[] {
  const found = syntax.calls.flatMap((call): (ScriptArg & { parser?: string })[] =>
    argsOf(syntax, call).map((arg) => ({ ...arg, parser: call.name.replace(/\.?[^.]*$/, '') })),
  );
  const commands = subcommands(syntax);
  for (const arg of found) {
    const own = commands.get(arg.parser ?? '');
    delete arg.parser;
    if (own !== undefined) arg.command = own;
  }
  const fields = found.some(({ by }) => by === 'hugging face') ? fieldsOf(syntax) : [];
  return [
    ...new Map(
      [...fields, ...found, ...argvOf(syntax)].map((arg) => [`${arg.command ?? ''} ${arg.flag}`, arg]),
    ).values(),
  ];
}

/** `train = subparsers.add_parser("train")`: the subcommand of each parser's name. */
function subcommands(syntax: Syntax): Map<string, string> {
  const named = syntax.assignments.flatMap(({ name, from }): [string, string][] => {
    let at = from;
    while (at < from + 6 && syntax.tokens[at]?.text !== '(') at++;
    const call = syntax.callAt.get(at);
    const [first] = call?.name.endsWith('.add_parser') === true ? call.args : [];
    const word = literal(syntax, first);
    return word === undefined ? [] : [[name, word]];
  });
  return new Map(named);
}

function argsOf(syntax: Syntax, call: Call): ScriptArg[] {
  const last = call.name.split('.').at(-1) ?? '';
  if (call.isDefinition) return [];
  if (last === 'add_argument') return [fromFlags(syntax, call, 'argparse')];
  if (/^(click\.)?option$|^click\.argument$/.test(call.name)) return [fromFlags(syntax, call, 'click')];
  return last === 'HfArgumentParser' ? huggingFace(syntax, call) : [];
}

/** Hugging Face's TrainingArguments on the command line need a folder, and many scripts a switch to train. */
function huggingFace({ tokens }: Syntax, { line }: Call): ScriptArg[] {
  const isAsked = tokens.some(({ kind, text }) => kind === 'name' && text === 'do_train');
  const common = { isNumber: false, line, by: 'hugging face' as const };
  return [
    { flag: '--output_dir', dest: 'output_dir', isRequired: true, isSwitch: false, ...common },
    ...(isAsked
      ? [{ flag: '--do_train', dest: 'do_train', isRequired: true, isSwitch: true, ...common }]
      : []),
  ];
}

/** `name: type = field(default=…)` of the dataclasses that Hugging Face's parser makes arguments of. */
function fieldsOf(syntax: Syntax): ScriptArg[] {
  return syntax.assignments.flatMap(({ name, from, line }) => {
    const call = syntax.callAt.get(from + 1);
    if (call?.name !== 'field' || name.includes('.')) return [];
    const value = keyword(call, 'default');
    const isRequired = value === undefined && keyword(call, 'default_factory') === undefined;
    const text = literal(syntax, value);
    const isSwitch = /^(True|False)$/.test(wordOf(syntax, value) ?? '');
    const isNumber = number.test(text ?? '');
    return [
      {
        flag: `--${name}`,
        dest: name,
        ...defined({ default: text }),
        isRequired,
        isSwitch,
        isNumber,
        line,
        by: 'hugging face' as const,
      },
    ];
  });
}

const keyword = ({ args }: Call, name: string): Argument | undefined => args.find((one) => one.name === name);
const isGiven = (syntax: Syntax, span: TokenRange | undefined): boolean =>
  span !== undefined && !/^(None|True|False)$/.test(wordOf(syntax, span) ?? '');
const isTrue = (syntax: Syntax, span: TokenRange | undefined): boolean => wordOf(syntax, span) === 'True';
const wordOf = ({ tokens }: Syntax, span: TokenRange | undefined): string | undefined =>
  span !== undefined && span.to === span.from + 1 ? tokens[span.from]?.text : undefined;

/** A literal as it would be typed: a string, a number, a tuple or list of them. */
function literal({ tokens }: Syntax, span: TokenRange | undefined): string | undefined {
  if (span === undefined || span.to - span.from > 60) return undefined;
  const all = tokens.slice(span.from, span.to);
  const words = all.filter(({ text, kind }) => kind !== 'op' || text === '-' || text === '*');
  if (words.length === 0 || words.some(({ kind }) => kind === 'name')) return undefined;
  if (all.some(({ prefix }) => prefix?.includes('f'))) return undefined;
  if (all.length > 1 && words.every(({ kind }) => kind === 'string') && all.length === words.length)
    return words.map(({ text }) => text).join('');
  if (words[0]?.text === '-' && words.length === 2) return `-${words[1]?.text ?? ''}`;
  if (words.some(({ text, kind }) => kind === 'op' && text === '*')) return undefined;
  return words.map(({ text }) => text).join(' ');
}

const stringsIn = ({ tokens }: Syntax, { from, to }: TokenRange): string[] =>
  tokens.slice(from, Math.min(to, from + 200)).flatMap(({ kind, text }) => (kind === 'string' ? [text] : []));

function fromFlags(syntax: Syntax, call: Call, by: 'argparse' | 'click'): ScriptArg {
  const names = call.args.filter(({ name }) => name === undefined).flatMap((one) => stringsIn(syntax, one));
  const flags = names.filter((name) => name.startsWith('-'));
  // `--cache/--no-cache` of click is one switch.
  const flag =
    (flags.find((name) => name.startsWith('--')) ?? flags[0] ?? names[0] ?? '?').split('/')[0] ?? '?';
  const action = stringsIn(syntax, keyword(call, 'action') ?? { from: 0, to: 0 })[0] ?? '';
  const isOptional = flag.startsWith('-');
  const value = literal(syntax, keyword(call, 'default'));
  const named =
    stringsIn(syntax, keyword(call, 'dest') ?? { from: 0, to: 0 })[0] ??
    names.find((name) => by === 'click' && !name.startsWith('-'));
  const nargs = literal(syntax, keyword(call, 'nargs'));
  const choices = keyword(call, 'choices');
  return {
    flag,
    dest: (isOptional ? (named ?? flag.replace(/^-+/, '')) : flag).replaceAll('-', '_'),
    ...defined({ default: value, help: literal(syntax, keyword(call, 'help')) }),
    ...(value === undefined && isGiven(syntax, keyword(call, 'default')) && { isComputed: true as const }),
    isRequired:
      isTrue(syntax, keyword(call, 'required')) ||
      (!isOptional && value === undefined && !/^[?*]$/.test(nargs ?? '')),
    isSwitch:
      /^(store_(true|false|const)|count|append_const|version|help)$/.test(action) ||
      isTrue(syntax, keyword(call, 'is_flag')) ||
      /BooleanOptionalAction/.test(wordsOf(syntax, keyword(call, 'action'))),
    isNumber: /^(int|float)$/.test(wordOf(syntax, keyword(call, 'type')) ?? '') || number.test(value ?? ''),
    ...defined({ choices: choices && stringsIn(syntax, choices) }),
    line: call.line,
    by,
    ...(by === 'click' && { isVariable: true as const }),
  };
}

const wordsOf = ({ tokens }: Syntax, span: TokenRange | undefined): string =>
  span === undefined
    ? ''
    : tokens
        .slice(span.from, Math.min(span.to, span.from + 10))
        .map(({ text }) => text)
        .join('');

/** `data = sys.argv[1]`: positional arguments without declaration. */
function argvOf({ tokens, assignments }: Syntax): ScriptArg[] {
  return assignments.flatMap(({ name, from, to, line }) => {
    const text = tokens
      .slice(from, Math.min(to, from + 12))
      .map((token) => token.text)
      .join('');
    const index = /^(?:\w+\()?sys\.argv\[(\d+)\]/.exec(text)?.[1];
    if (index === undefined || index === '0' || name.includes('.')) return [];
    const by = 'argv' as const;
    return [
      {
        flag: name,
        dest: name,
        isRequired: true,
        isSwitch: false,
        isNumber: /^(int|float)\(/.test(text),
        line,
        by,
        isVariable: true as const,
      },
    ];
  });
}
