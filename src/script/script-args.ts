import { defined, given } from '@updraft/base';
import { type Call, dottedName, elementsOf, type Syntax } from './python-syntax.ts';
import { isString, type PythonNode, stringParts } from './python-tree.ts';

/** An argument that a script takes on its command line. */
export interface ScriptArg {
  /** As it is typed: `--data`, or `data` for one without a flag. */
  flag: string;
  /** All its spellings. */
  flags: string[];
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
  /** A switch that turns something off, or a value that is true unless it is given. */
  isOn?: boolean;
  /** The user typed it; its default is what they typed. */
  isTyped?: true;
  /** Whether its default or type is a number. */
  isNumber: boolean;
  /** Its literal choices. */
  choices?: string[];
  /** What argparse makes of its value: `int`, or the name of a function. */
  type?: string;
  /** Takes one value that follows it, as far as its literal `nargs` and `action` show. */
  takesOne?: true;
  line: number;
  by: 'argparse' | 'click' | 'argv' | 'hugging face';
  /** Read as a variable of that name, not as a part of `args`. */
  isVariable?: true;
}

const number = /^-?(\d+\.?\d*|\.\d+)(e-?\d+)?$/;

/** The arguments of a script: argparse, click, `sys.argv`, Hugging Face's parser. */
export function scriptArgs(syntax: Syntax): ScriptArg[] {
  const commands = subcommands(syntax);
  const found = syntax.calls.flatMap((call): ScriptArg[] => {
    const command = commands.get(dottedName(call.receiver) ?? '');
    return argsOf(syntax, call).map((arg) => ({ ...arg, ...defined({ command }) }));
  });
  const fields = found.some(({ by }) => by === 'hugging face') ? fieldsOf(syntax) : [];
  return [
    ...new Map(
      [...fields, ...found, ...argvOf(syntax)].map((arg) => [`${arg.command ?? ''} ${arg.flag}`, arg]),
    ).values(),
  ];
}

/** The arguments with what a command line gives them. */
export function typed(args: readonly ScriptArg[], words: readonly string[]): ScriptArg[] {
  const isFlag = (word = '') => word.startsWith('-');
  const ofWord = (word = '') => args.find(({ flags }) => flags.includes(word.replace(/=.*/s, '')));
  const places = args.filter(({ flag }) => !isFlag(flag));
  const plain = words.filter((word, at) => !isFlag(word) && ofWord(words[at - 1])?.isSwitch !== false);
  return args.map((arg) => {
    const at = words.findIndex((word) => isFlag(word) && ofWord(word) === arg);
    const value =
      at < 0 ? plain[places.indexOf(arg)] : (words[at]?.split(/=(.*)/s)[1] ?? words[at + 1] ?? '');
    return value === undefined
      ? arg
      : { ...arg, default: value, isOn: arg.isOn !== true, isRequired: false, isTyped: true };
  });
}

/** `train = subparsers.add_parser("train")`: the subcommand of each parser's name. */
const subcommands = ({ assignments, callOf }: Syntax): Map<string, string> =>
  new Map(
    assignments.flatMap(({ name, value }): [string, string][] => {
      const call = callOf.get(value);
      const word = call?.name.endsWith('.add_parser') === true ? literalText(call.args[0]?.value) : undefined;
      return word === undefined ? [] : [[name, word]];
    }),
  );

function argsOf(syntax: Syntax, call: Call): ScriptArg[] {
  const last = call.name.split('.').at(-1) ?? '';
  if (last === 'add_argument') return [fromFlags(call, 'argparse')];
  if (/^(click\.)?option$|^click\.argument$/.test(call.name)) return [fromFlags(call, 'click')];
  return last === 'HfArgumentParser' ? huggingFace(syntax, call) : [];
}

/** Hugging Face's TrainingArguments on the command line need a folder, and many scripts a switch to train. */
function huggingFace({ nodes }: Syntax, { line }: Call): ScriptArg[] {
  const isAsked = nodes.some(({ kind, text }) => kind === 'PropertyName' && text === 'do_train');
  const common = { isRequired: true, isNumber: false, line, by: 'hugging face' as const };
  const of = (dest: string, isSwitch: boolean): ScriptArg => ({
    flag: `--${dest}`,
    flags: [`--${dest}`],
    dest,
    isSwitch,
    ...common,
  });
  return given(of('output_dir', false), isAsked && of('do_train', true));
}

/** `name: type = field(default=…)` of the dataclasses that Hugging Face's parser makes arguments of. */
function fieldsOf({ assignments, callOf }: Syntax): ScriptArg[] {
  return assignments.flatMap(({ name, value, node: { line } }) => {
    const call = callOf.get(value);
    if (call?.shown !== 'field' || name.includes('.')) return [];
    const standard = keyword(call, 'default');
    const text = literalText(standard);
    return [
      {
        flag: `--${name}`,
        flags: [`--${name}`],
        dest: name,
        ...defined({ default: text }),
        isRequired: standard === undefined && keyword(call, 'default_factory') === undefined,
        isSwitch: standard?.kind === 'Boolean',
        ...(standard?.text === 'True' && { isOn: true as const }),
        isNumber: number.test(text ?? ''),
        line,
        by: 'hugging face' as const,
      },
    ];
  });
}

const keyword = ({ args }: Call, name: string): PythonNode | undefined =>
  args.find((one) => one.name === name)?.value;
const isTrue = (node: PythonNode | undefined): boolean => node?.text === 'True';

/** A literal as it would be typed: a string, a number, a tuple or list of them. */
export function literalText(node: PythonNode | undefined): string | undefined {
  if (node === undefined) return undefined;
  const { kind, children, text } = node;
  if (kind === 'String') return stringParts(node).text;
  if (kind === 'Number') return text;
  if (kind === 'UnaryExpression' && children[0]?.text === '-' && children[1]?.kind === 'Number') return text;
  const isList = /^(Tuple|Array|Parenthesized)Expression$/.test(kind);
  const parts = isList ? elementsOf(node) : kind === 'ContinuedString' ? children : [];
  const words = parts.map((part) => (part === node ? undefined : literalText(part)));
  if (words.length === 0 || words.some((word) => word === undefined)) return undefined;
  return words.join(isList ? ' ' : '');
}

/** The strings in an expression. */
const stringsIn = (node: PythonNode | undefined): string[] =>
  node === undefined
    ? []
    : isString(node)
      ? [stringParts(node).text]
      : node.children.flatMap((child) => stringsIn(child));

function fromFlags(call: Call, by: 'argparse' | 'click'): ScriptArg {
  const names = call.args.flatMap(({ name, value }) =>
    name === undefined ? (literalText(value) ?? []) : [],
  );
  // `--cache/--no-cache` of click is one switch.
  const flags = names.filter((name) => name.startsWith('-')).flatMap((name) => name.split('/'));
  const flag = flags.find((name) => name.startsWith('--')) ?? flags[0] ?? names[0] ?? '?';
  const action = literalText(keyword(call, 'action')) ?? keyword(call, 'action')?.text ?? '';
  const isOptional = flag.startsWith('-');
  const given = keyword(call, 'default');
  const value = literalText(given);
  const named =
    literalText(keyword(call, 'dest')) ?? names.find((name) => by === 'click' && !name.startsWith('-'));
  const choices = keyword(call, 'choices');
  const type = keyword(call, 'type')?.text;
  const isSwitch =
    /^(store_(true|false|const)|count|append_const|version|help)$|BooleanOptionalAction/.test(action) ||
    isTrue(keyword(call, 'is_flag'));
  return {
    flag,
    flags: flags.length === 0 ? [flag] : flags,
    dest: (isOptional ? (named ?? flag.replace(/^-+/, '')) : flag).replaceAll('-', '_'),
    ...defined({ default: value ?? (isSwitch || given?.kind !== 'Boolean' ? undefined : given.text) }),
    ...defined({ help: literalText(keyword(call, 'help')) }),
    ...(value === undefined &&
      given !== undefined &&
      !/^(None|Boolean)$/.test(given.kind) && { isComputed: true as const }),
    isRequired:
      isTrue(keyword(call, 'required')) ||
      (!isOptional && value === undefined && !/^[?*]$/.test(literalText(keyword(call, 'nargs')) ?? '')),
    isSwitch,
    ...((action === 'store_false' || (isSwitch && isTrue(given))) && { isOn: true as const }),
    isNumber: /^(int|float)$/.test(type ?? '') || number.test(value ?? ''),
    ...defined({ choices: literalText(choices) === undefined ? undefined : stringsIn(choices), type }),
    ...(isOptional &&
      !isSwitch &&
      /^(store|append)?$/.test(action) &&
      keyword(call, 'nargs') === undefined && { takesOne: true as const }),
    line: call.line,
    by,
    ...(by === 'click' && { isVariable: true as const }),
  };
}

/** `data = sys.argv[1]`: positional arguments without declaration. */
function argvOf({ assignments }: Syntax): ScriptArg[] {
  return assignments.flatMap(({ name, value: { text }, node: { line } }): ScriptArg[] => {
    const index = /^(?:\w+\()?sys\.argv\[(\d+)\]/.exec(text.slice(0, 40))?.[1];
    if (index === undefined || index === '0' || name.includes('.')) return [];
    return [
      {
        flag: name,
        flags: [name],
        dest: name,
        isRequired: true,
        isSwitch: false,
        isNumber: /^(int|float)\(/.test(text),
        line,
        by: 'argv',
        isVariable: true,
      },
    ];
  });
}
