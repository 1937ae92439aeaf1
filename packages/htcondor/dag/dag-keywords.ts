import type { DagCommand, NodeType, ScriptTime } from './dag-command.ts';
import { DagLexer, DagSyntax } from './dag-lexer.ts';
import { closingOf, type DagLines } from './dag-lines.ts';

const isWord = (word: string, keyword: string): boolean =>
  word.length === keyword.length && word.toUpperCase().replaceAll('-', '_') === keyword;

/** The next word, which must be there. */
function need(words: DagLexer, what: string, quotes: 'kept' | 'removed' = 'kept'): string {
  const word = words.next(quotes);
  if (word === '') throw new DagSyntax(`${what} is missing`);
  return word;
}

/** A number at the start of the next word: DAGMan ignores what follows it. */
function number(words: DagLexer, what: string, min = -Infinity, max = Infinity): number {
  const word = need(words, what);
  const value = Number(/^[+-]?\d+/.exec(word)?.[0] ?? NaN);
  if (!(value >= min && value <= max)) {
    const range =
      max === Infinity ? (min === -Infinity ? '' : ` of at least ${min}`) : ` from ${min} to ${max}`;
    throw new DagSyntax(`${what} must be a number${range}, not \`${word}\``);
  }
  return value;
}

function end(words: DagLexer): void {
  const word = words.next();
  if (word !== '') throw new DagSyntax(`\`${word}\` is one word too many`);
}

const reserved = new Set(['PARENT', 'CHILD', 'ALL_NODES']);

/** The name of a node where DAGMan does not take ALL_NODES. */
function oneNode(words: DagLexer): string {
  const node = need(words, 'the name of the node');
  if (isWord(node, 'ALL_NODES')) throw new DagSyntax('it takes the name of one node, not ALL_NODES');
  return node;
}

function nodeOf(type: NodeType, words: DagLexer, lines: DagLines): DagCommand {
  const name = need(words, 'the name of the node');
  if (reserved.has(name.toUpperCase())) throw new DagSyntax(`\`${name}\` cannot be the name of a node`);
  if (name.includes('+')) throw new DagSyntax(`the name \`${name}\` has a +, which stands for splices`);
  const what = type === 'subdag' ? 'the DAG file' : 'the submit file';
  const submit = need(words, what, 'removed');
  const close = type === 'subdag' ? undefined : closingOf(submit);
  const described = close === undefined ? undefined : lines.description(close);
  const { place } = words;
  if (described === undefined)
    return { kind: 'node', type, name, submit, inline: undefined, ...nodeOptions(words), place };
  const options = nodeOptions(new DagLexer(described.after, place));
  return { kind: 'node', type, name, submit: '', inline: described.inline, ...options, place };
}

function nodeOptions(words: DagLexer): { dir: string | undefined; noop: boolean; done: boolean } {
  let dir: string | undefined;
  let [noop, done] = [false, false];
  for (let word = words.next(); word !== ''; word = words.next())
    if (isWord(word, 'NOOP')) noop = true;
    else if (isWord(word, 'DONE')) done = true;
    else if (isWord(word, 'DIR')) dir = need(words, 'the folder after DIR', 'removed');
    else throw new DagSyntax(`\`${word}\` is one word too many`);
  return { dir, noop, done };
}

function subdag(words: DagLexer, lines: DagLines): DagCommand {
  if (!isWord(words.next(), 'EXTERNAL')) throw new DagSyntax('EXTERNAL is missing after SUBDAG');
  return nodeOf('subdag', words, lines);
}

function splice(words: DagLexer): DagCommand {
  const name = need(words, 'the name of the splice');
  const file = need(words, 'the DAG file', 'removed');
  const word = words.next();
  if (word !== '' && !isWord(word, 'DIR')) throw new DagSyntax(`\`${word}\` is one word too many`);
  const dir = word === '' ? undefined : need(words, 'the folder after DIR', 'removed');
  end(words);
  return { kind: 'splice', name, file, dir, place: words.place };
}

function description(words: DagLexer, lines: DagLines): DagCommand {
  const name = need(words, 'the name of the submit description');
  const close = closingOf(words.next());
  if (close === undefined) throw new DagSyntax('the submit description in { } is missing');
  return { kind: 'description', name, inline: lines.description(close).inline, place: words.place };
}

function edges(words: DagLexer): DagCommand {
  const names: string[] = [];
  let childrenAt = -1;
  for (let word = words.next(); word !== ''; word = words.next())
    if (!isWord(word, 'CHILD')) names.push(word);
    else if (childrenAt === -1) childrenAt = names.length;
  if (names.length === 0 || childrenAt === 0) throw new DagSyntax('there is no node after PARENT');
  if (childrenAt === -1) throw new DagSyntax('CHILD is missing');
  if (childrenAt === names.length) throw new DagSyntax('there is no node after CHILD');
  const [parents, children] = [names.slice(0, childrenAt), names.slice(childrenAt)];
  return { kind: 'edges', parents, children, place: words.place };
}

function weakEdges(words: DagLexer): DagCommand {
  if (!isWord(words.next(), 'PARENT')) throw new DagSyntax('PARENT is missing after WEAK');
  return edges(words);
}

function script(words: DagLexer): DagCommand {
  for (;;) {
    const word = words.next().toUpperCase();
    if (word === 'PRE' || word === 'POST' || word === 'HOLD') return scriptOf(word, words);
    if (word === 'DEFER') {
      number(words, 'the status after DEFER');
      number(words, 'the time after DEFER');
    } else if (word === 'DEBUG') {
      need(words, 'the file after DEBUG');
      const stream = need(words, 'STDOUT, STDERR or ALL after DEBUG');
      if (!/^(stdout|stderr|all)$/i.test(stream))
        throw new DagSyntax(`DEBUG takes STDOUT, STDERR or ALL, not \`${stream}\``);
    } else throw new DagSyntax('PRE, POST or HOLD is missing');
  }
}

function scriptOf(when: ScriptTime, words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  const command = words.rest();
  if (command === '') throw new DagSyntax('the script is missing');
  return { kind: 'script', node, when, command, place: words.place };
}

function retry(words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  number(words, 'the number of retries', 0);
  const word = words.next();
  if (word !== '' && !isWord(word, 'UNLESS_EXIT')) throw new DagSyntax(`\`${word}\` is one word too many`);
  if (word !== '') number(words, 'the exit code after UNLESS-EXIT');
  end(words);
  return { kind: 'setting', node, keyword: 'RETRY', place: words.place };
}

function vars(words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  const word = words.peek();
  const append = isWord(word, 'APPEND');
  if (append || isWord(word, 'PREPEND')) words.next();
  const pairs: [string, string][] = [];
  for (let pair = words.pair(); pair !== undefined; pair = words.pair()) {
    const [name, value] = pair;
    if (/^(\+|my\.)$/i.test(name)) throw new DagSyntax('a variable has no name');
    if (/^queue/i.test(name)) throw new DagSyntax(`the name \`${name}\` begins with \`queue\``);
    pairs.push([name.replace(/^\+/, 'My.'), value]);
  }
  if (pairs.length === 0) throw new DagSyntax('there is no name="value"');
  // A copy has no room for more.
  return { kind: 'vars', node, append, pairs: pairs.slice(), place: words.place };
}

function abortOn(words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  number(words, 'the exit code');
  const word = words.next();
  if (word !== '' && !isWord(word, 'RETURN')) throw new DagSyntax(`\`${word}\` is one word too many`);
  if (word !== '') number(words, 'the value after RETURN', 0, 255);
  end(words);
  return { kind: 'setting', node, keyword: 'ABORT-DAG-ON', place: words.place };
}

const nodeNumber =
  (keyword: string, what: string, min?: number, max?: number) =>
  (words: DagLexer): DagCommand => {
    const node = need(words, 'the name of the node');
    number(words, what, min, max);
    end(words);
    return { kind: 'setting', node, keyword, place: words.place };
  };

function tolerance(words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  number(words, 'the tolerance', 0);
  if (words.peek() === '%') words.next();
  if (/^(fail[-_]fast|wait)$/i.test(words.peek())) words.next();
  end(words);
  return { kind: 'setting', node, keyword: 'TOLERANCE', place: words.place };
}

function savePoint(words: DagLexer): DagCommand {
  const node = oneNode(words);
  words.next('removed');
  end(words);
  return { kind: 'setting', node, keyword: 'SAVE_POINT_FILE', place: words.place };
}

function category(words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  const name = need(words, 'the name of the category');
  end(words);
  return { kind: 'category', node, category: name, place: words.place };
}

function maxJobs(words: DagLexer): DagCommand {
  const name = need(words, 'the name of the category');
  const limit = number(words, 'the limit', 0);
  end(words);
  return { kind: 'maxjobs', category: name, limit, place: words.place };
}

const oneFile =
  (kind: 'include' | 'config' | 'other') =>
  (words: DagLexer): DagCommand => {
    const file = need(words, 'the file', 'removed');
    end(words);
    return { kind, file, place: words.place };
  };

function done(words: DagLexer): DagCommand {
  const node = oneNode(words);
  end(words);
  return { kind: 'done', node, place: words.place };
}

function connect(words: DagLexer): DagCommand {
  const from = need(words, 'the first splice');
  const to = need(words, 'the second splice');
  end(words);
  return { kind: 'connect', from, to, place: words.place };
}

const pin =
  (direction: 'in' | 'out') =>
  (words: DagLexer): DagCommand => {
    const node = oneNode(words);
    const pinNumber = number(words, 'the number of the pin', 1);
    end(words);
    return { kind: 'pin', node, number: pinNumber, direction, place: words.place };
  };

function dot(words: DagLexer): DagCommand {
  need(words, 'the file', 'removed');
  for (let word = words.next(); word !== ''; word = words.next())
    if (isWord(word, 'INCLUDE')) need(words, 'the file after INCLUDE');
    else if (!/^(dont[-_])?(update|overwrite)$/i.test(word))
      throw new DagSyntax(`\`${word}\` is one word too many`);
  return { kind: 'other', place: words.place };
}

function nodeStatus(words: DagLexer): DagCommand {
  need(words, 'the file', 'removed');
  for (let word = words.next(); word !== ''; word = words.next())
    if (!isWord(word, 'ALWAYS_UPDATE') && !/^[+-]?\d/.test(word))
      throw new DagSyntax(`\`${word}\` is one word too many`);
  return { kind: 'other', place: words.place };
}

function environment(words: DagLexer): DagCommand {
  if (!/^(set|get)$/i.test(words.next())) throw new DagSyntax('SET or GET is missing after ENV');
  if (words.rest() === '') throw new DagSyntax('there is no variable');
  return { kind: 'other', place: words.place };
}

function setJobAttribute(words: DagLexer): DagCommand {
  if (words.rest() === '') throw new DagSyntax('there is no `name = value`');
  return { kind: 'other', place: words.place };
}

function reject(words: DagLexer): DagCommand {
  end(words);
  return { kind: 'reject', place: words.place };
}

interface Keyword {
  syntax: string;
  read: (words: DagLexer, lines: DagLines) => DagCommand;
}

const nodeKeyword = (keyword: string, type: NodeType): Keyword => ({
  syntax: `${keyword} NODE SUBMIT-FILE [DIR FOLDER] [NOOP] [DONE]`,
  read: (words, lines) => nodeOf(type, words, lines),
});

/** Every command, by its keyword in upper case; `-` and `_` are the same. */
export const dagKeywords: Partial<Record<string, Keyword>> = {
  JOB: nodeKeyword('JOB', 'job'),
  FINAL: nodeKeyword('FINAL', 'final'),
  PROVISIONER: nodeKeyword('PROVISIONER', 'provisioner'),
  SERVICE: nodeKeyword('SERVICE', 'service'),
  SUBDAG: { syntax: 'SUBDAG EXTERNAL NODE DAG-FILE [DIR FOLDER] [NOOP] [DONE]', read: subdag },
  SPLICE: { syntax: 'SPLICE NAME DAG-FILE [DIR FOLDER]', read: splice },
  INCLUDE: { syntax: 'INCLUDE DAG-FILE', read: oneFile('include') },
  SUBMIT_DESCRIPTION: { syntax: 'SUBMIT-DESCRIPTION NAME {', read: description },
  PARENT: { syntax: 'PARENT A B … CHILD C D …', read: edges },
  WEAK: { syntax: 'WEAK PARENT A B … CHILD C D …', read: weakEdges },
  SCRIPT: { syntax: 'SCRIPT [DEFER STATUS TIME] PRE|POST|HOLD NODE SCRIPT ARGUMENTS', read: script },
  RETRY: { syntax: 'RETRY NODE TIMES [UNLESS-EXIT CODE]', read: retry },
  VARS: { syntax: 'VARS NODE [PREPEND|APPEND] name="value" …', read: vars },
  ABORT_DAG_ON: { syntax: 'ABORT-DAG-ON NODE EXIT-CODE [RETURN VALUE]', read: abortOn },
  PRIORITY: { syntax: 'PRIORITY NODE NUMBER', read: nodeNumber('PRIORITY', 'the priority') },
  PRE_SKIP: { syntax: 'PRE_SKIP NODE EXIT-CODE', read: nodeNumber('PRE_SKIP', 'the exit code', 0, 255) },
  TOLERANCE: { syntax: 'TOLERANCE NODE NUMBER[%] [FAIL-FAST|WAIT]', read: tolerance },
  SAVE_POINT_FILE: { syntax: 'SAVE_POINT_FILE NODE [FILE]', read: savePoint },
  DONE: { syntax: 'DONE NODE', read: done },
  CATEGORY: { syntax: 'CATEGORY NODE NAME', read: category },
  MAXJOBS: { syntax: 'MAXJOBS CATEGORY NUMBER', read: maxJobs },
  CONFIG: { syntax: 'CONFIG FILE', read: oneFile('config') },
  JOBSTATE_LOG: { syntax: 'JOBSTATE_LOG FILE', read: oneFile('other') },
  NODE_STATUS_FILE: { syntax: 'NODE_STATUS_FILE FILE [SECONDS] [ALWAYS-UPDATE]', read: nodeStatus },
  DOT: { syntax: 'DOT FILE [UPDATE] [DONT-OVERWRITE] [INCLUDE FILE]', read: dot },
  CONNECT: { syntax: 'CONNECT SPLICE SPLICE', read: connect },
  PIN_IN: { syntax: 'PIN_IN NODE NUMBER', read: pin('in') },
  PIN_OUT: { syntax: 'PIN_OUT NODE NUMBER', read: pin('out') },
  SET_JOB_ATTR: { syntax: 'SET_JOB_ATTR NAME = VALUE', read: setJobAttribute },
  ENV: { syntax: 'ENV SET|GET VARIABLES', read: environment },
  REJECT: { syntax: 'REJECT', read: reject },
};
