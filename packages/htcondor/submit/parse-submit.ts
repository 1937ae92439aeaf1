import { type SourceLine, counted, defined } from '@updraft/base';
import path from 'node:path';
import { type LogicalLine, logicalLines } from './split-arguments.ts';
import { expandMacros, expandSelf, CircularMacro } from './expand-macros.ts';
import {
  queueArguments,
  BadQueue,
  itemsOf,
  type ItemSource,
  parseQueue,
  type QueueStatement,
  resolveJobs,
} from './resolve-jobs.ts';
import type { Submission } from './submission.ts';
import { BadCondition, evaluateCondition, type ReaderContext, SubmitReader } from './submit-reader.ts';
import type { ListedName, SubmitFiles } from './submit-files.ts';

const maxIncludeDepth = 20;
/** As in HTCondor. */
const maxBranches = 63;

/**
 * Reads a submit file as `condor_submit` would, without running anything: commands that HTCondor would run
 * (`include command`, `queue from … |`) are reported instead. It never throws; what HTCondor would refuse is among the
 * problems, and reading stops there as HTCondor's does.
 */
export function parseSubmit(text: string, context: ReaderContext): Submission {
  const reader = new SubmitReader(context);
  const start = { file: context.file, line: 1 };
  if (text.slice(0, 200).includes('\0')) {
    reader.note('utf-16', 'the file is in UTF-16, which HTCondor cannot read', start);
    reader.stopped = true;
  } else {
    if (text.startsWith('\ufeff'))
      reader.note(
        'byte-order-mark',
        'an invisible byte order mark begins the file: HTCondor refuses it',
        start,
      );
    readText(reader, text.replace(/^\uFEFF/, ''), context.file, 0);
  }
  const { submission } = reader;
  // HTCondor 25 queues one job; only then is there something for the rules to look at.
  submission.hasNoQueue = !reader.stopped && submission.queues.length === 0;
  if (submission.hasNoQueue) readQueueStatement(reader, '', start, { lines: [], at: 0 });
  return submission;
}

interface Lines {
  lines: LogicalLine[];
  at: number;
  file: string;
  depth: number;
}

function readText(reader: SubmitReader, text: string, file: string, depth: number): void {
  const lines: Lines = { lines: logicalLines(text), at: 0, file, depth };
  const branches = new IfStack();
  while (lines.at < lines.lines.length && !reader.stopped) {
    const line = lines.lines[lines.at++];
    if (line === undefined || line.text === '' || line.text.startsWith('#')) continue;
    readLine(reader, line, lines, branches);
  }
}

/** A line as it was meant. */
const withPlainBlanks = (line: string): string =>
  line
    .replaceAll(/"[^"]*"|[\u00A0\u2000-\u200B\u202F\u3000\uFEFF]/g, (part) =>
      part.startsWith('"') ? part : ' ',
    )
    .trim();

function readLine(reader: SubmitReader, line: LogicalLine, lines: Lines, branches: IfStack): void {
  const place = { file: lines.file, line: line.line };
  const plain = withPlainBlanks(line.text);
  const text = branches.depth > 0 ? plain.replace(/^:\s*/, '') : plain;
  try {
    if (readBranch(reader, text, branches) || !branches.taken) return;
    if (plain !== line.text)
      reader.note('syntax', 'a no-break space is not a blank for HTCondor: type a blank instead', place);
    if (text === '' || text.startsWith('#')) return;
    if (line.commentInside !== undefined) reader.oddComment({ ...place, line: line.commentInside });
    readStatement(reader, text, place, lines);
  } catch (error) {
    if (error instanceof BadCondition) reader.stop(`\`${text}\` is not a condition: ${error.message}`, place);
    else if (error instanceof CircularMacro) reader.stop(error.message, place);
    else throw error;
  }
}

function readBranch(reader: SubmitReader, text: string, branches: IfStack): boolean {
  const [, word = '', condition = ''] = /^(if|elif|else|endif)(?:\s+(.*))?$/is.exec(text) ?? [];
  if (word === '') return false;
  const test = (): boolean => {
    reader.refer(condition, /^!?\s*defined\s+([\w.]+)/i.exec(condition)?.[1]);
    return evaluateCondition(condition, reader.conditions());
  };
  const problem = branches.step(word.toLowerCase(), test);
  if (problem !== undefined) throw new BadCondition(problem);
  return true;
}

function readStatement(reader: SubmitReader, text: string, place: SourceLine, lines: Lines): void {
  const queue = queueArguments(text);
  if (queue !== undefined) {
    if (lines.depth > 0) reader.stop('a queue statement is not allowed in an included file', place);
    else readQueueStatement(reader, queue, place, lines);
    return;
  }
  const colon = /^@?(include|use|error|warning)\b([^=:]*):\s*(.*)$/is.exec(text);
  if (colon !== null) {
    readColon(reader, colon, place, lines.depth);
    return;
  }
  const heredoc = /^([^\s=:@+]+)\s*@=\s*(\S*)$/.exec(text);
  if (heredoc !== null) {
    readHereText(reader, heredoc, place, lines);
    return;
  }
  readAssignment(reader, text, place);
}

function readAssignment(reader: SubmitReader, text: string, place: SourceLine): void {
  const [, sign = '', written = '', append, rest] =
    /^([-+]?)([^\s=:]+?)\s*(?:\+((?:[,;|&.:]{1,2})?))?=\s*(.*)$/s.exec(text) ?? [];
  if (written === '' || rest === undefined) {
    reader.stop(`\`${text}\` is neither an assignment nor a queue statement`, place);
    return;
  }
  reader.refer(rest);
  const name = expandMacros(written, reader.scope());
  const before = reader.macros.get(name.toLowerCase())?.value ?? '';
  const joined = append === undefined || before === '' ? rest : before + joiner(append) + rest;
  if (sign !== '') reader.assign(`MY.${name}`, sign === '-' ? '' : rest, place);
  else if (!/^[\w.]+$/.test(name)) reader.stop(`\`${written}\` is not a valid name`, place);
  else reader.assign(name, expandSelf(joined, name, before), place);
}

const joiner = (separator: string): string =>
  separator === '' ? ' ' : separator.length === 2 ? ` ${separator} ` : separator;

function readHereText(reader: SubmitReader, match: RegExpExecArray, place: SourceLine, lines: Lines): void {
  const [, name = '', tag = ''] = match;
  const body: string[] = [];
  for (;;) {
    const line = lines.lines[lines.at++];
    if (line === undefined) {
      reader.stop(`the value of \`${name}\` has no closing line \`@${tag}\``, place);
      return;
    }
    if (line.text === `@${tag}`) break;
    if (line.text !== '' && !line.text.startsWith('#')) body.push(line.text);
  }
  const value = body.join('\n');
  reader.refer(value);
  reader.assign(name, expandSelf(value, name, reader.macros.get(name.toLowerCase())?.value ?? ''), place);
}

function readColon(reader: SubmitReader, match: RegExpExecArray, place: SourceLine, depth: number): void {
  const [, word = '', options = '', rest = ''] = match;
  reader.refer(rest);
  const target = expandMacros(rest, reader.scope()).trim();
  if (/^use$/i.test(word))
    reader.note(
      'not-run',
      `the template \`${match[0]}\` is in the pool's configuration and was not read`,
      place,
    );
  else if (/^error$/i.test(word)) reader.stop(`the file stops with an error: ${target}`, place);
  else if (/^warning$/i.test(word)) reader.note('missing', `the file warns: ${target}`, place);
  else include(reader, options, target, place, depth);
}

function include(
  reader: SubmitReader,
  options: string,
  target: string,
  place: SourceLine,
  depth: number,
): void {
  const isCommand = /\b(command|output)\b/i.test(options) || target.endsWith('|');
  const text = isCommand ? undefined : reader.context.files?.read(target);
  if (isCommand)
    reader.note('not-run', `\`${target}\` would be run to include what it prints; it was not run`, place);
  else if (text !== undefined && depth < maxIncludeDepth) {
    // Files that include each other twice would never end.
    reader.budget.spendAll(text);
    readText(reader, text, target, depth + 1);
  } else if (text !== undefined) reader.stop('includes are nested too deep', place);
  else if (reader.context.files?.stat(target)?.kind !== 'missing')
    reader.note('not-run', `the included file ${target} was not read`, place);
  else if (!/\bifexist/i.test(options)) reader.stop(`the included file ${target} cannot be read`, place);
}

interface Level {
  /** The lines of this branch are read. */
  taken: boolean;
  /** A branch of this `if` was already taken. */
  settled: boolean;
  inElse: boolean;
}

/** Which of the nested `if … elif … else … endif` branches is being read. */
class IfStack {
  readonly #levels: Level[] = [];

  get depth(): number {
    return this.#levels.length;
  }

  /** Whether the current line is read. */
  get taken(): boolean {
    return this.#levels.every((level) => level.taken);
  }

  /** Takes one of the four words; returns what is wrong with its position, if anything. */
  step(word: string, test: () => boolean): string | undefined {
    if (word === 'if') {
      // In a skipped branch the condition is not evaluated either.
      if (this.#levels.length >= maxBranches) return 'they are nested too deep';
      const taken = this.taken && test();
      this.#levels.push({ taken, settled: taken, inElse: false });
      return undefined;
    }
    const level = this.#levels.at(-1);
    if (level === undefined) return `\`${word}\` without \`if\``;
    if (word === 'endif') this.#levels.pop();
    else if (level.inElse) return `\`${word}\` after \`else\``;
    else this.#turn(level, word, test);
    return undefined;
  }

  #turn(level: Level, word: string, test: () => boolean): void {
    const outside = this.#levels.slice(0, -1).every((outer) => outer.taken);
    level.taken = outside && !level.settled && (word === 'else' || test());
    level.settled ||= level.taken;
    level.inElse = word === 'else';
  }
}

interface Following {
  lines: LogicalLine[];
  at: number;
}

/** HTCondor 25 accepts only one; the jobs of more are counted, not resolved. */
const maxQueues = 500;

/** Reads one queue statement with its items and resolves its first jobs. */
function readQueueStatement(reader: SubmitReader, text: string, place: SourceLine, lines: Following): void {
  reader.refer(text);
  const { queues } = reader.submission;
  const limit = Math.max(maxQueues, reader.maxJobs);
  if (queues.length === limit)
    reader.note('missing', `the jobs of more than ${limit} queue statements are counted, not checked`, place);
  reader.takeGiven(true);
  const statement = statementOf(reader, text, place);
  if (statement === undefined) return;
  const queue = withColumns(reader, statement);
  const items = itemsFor(reader, queue.source, place, lines);
  const blank = queue.source.kind === 'none' ? 0 : (items?.filter((item) => item === '').length ?? 0);
  if (blank > 0)
    reader.note(
      'blank-item',
      `the list has ${counted(blank, 'blank line')}: ` +
        `${blank === 1 ? 'it' : 'each'} makes a job, with the values of the line before`,
      place,
    );
  const { jobs, total, template } = resolveJobs(
    reader,
    items === undefined ? { ...queue, count: 1, slice: {} } : queue,
    queue.source.kind === 'none' ? undefined : (items ?? [unknownItem(queue.variables)]),
    place,
    queues.length < limit,
  );
  queues.push({
    place,
    text: `queue ${text}`.trim(),
    variables: queue.variables,
    total: items && total,
    jobs,
    ...defined({ template }),
    inForce: new Map(queues.length < limit ? reader.inForce : []),
  });
}

/** The columns of a table as variables, and its rows as items; a table with more to it stays as it is. */
function withColumns(reader: SubmitReader, queue: QueueStatement): QueueStatement {
  const { source } = queue;
  if (source.kind !== 'table' || source.name === undefined || queue.variables.length > 0) return queue;
  const text = reader.context.files?.read(source.name);
  if (text === undefined) return { ...queue, source: { kind: 'file', name: source.name } };
  const cells = (line: string): string[] => line.split(',').map((cell) => cell.trim());
  const [header = '', ...rows] = linesOf(text);
  const items = rows.map((line) => cells(line).join('\x1f'));
  return { ...queue, variables: cells(header), source: { kind: 'items', items } };
}

/** Stands for any item, so that the rules still see a job; no rule looks for a file whose name has `$$(`. */
const unknownItem = (variables: readonly string[]): string =>
  (variables.length === 0 ? ['Item'] : variables).map((name) => `$$(${name})`).join(' ');

function statementOf(reader: SubmitReader, text: string, place: SourceLine): QueueStatement | undefined {
  try {
    const expanded = expandMacros(text, reader.scope()).trim();
    // The command line may name the list: then nothing is wrong.
    const [macro = ''] = /\$\([\w.]+\)$/.exec(text.trim()) ?? [];
    return parseQueue(/\bfrom$/i.test(expanded) ? `${expanded} ${macro}` : expanded);
  } catch (error) {
    if (!(error instanceof BadQueue || error instanceof CircularMacro)) throw error;
    reader.stop(`the queue statement cannot be read: ${error.message}`, place);
    return undefined;
  }
}

/** Undefined when only HTCondor can know them. */
function itemsFor(
  reader: SubmitReader,
  source: ItemSource,
  place: SourceLine,
  lines: Following,
): string[] | undefined {
  switch (source.kind) {
    case 'none':
      return [''];
    case 'items':
      return source.items;
    case 'inline':
      return inlineItems(reader, source, place, lines);
    case 'command':
      reader.note(
        'not-run',
        `\`${source.command}\` would be run for the list of items; it was not run`,
        place,
      );
      return undefined;
    case 'file':
      return itemsOfFile(reader, source.name, place);
    case 'table':
      reader.note('missing', 'the items are in a table with options that only HTCondor reads', place);
      return undefined;
    case 'matching':
      return matchingItems(reader, source, place);
  }
}

function matchingItems(
  reader: SubmitReader,
  { patterns, of }: { patterns: string[]; of: 'files' | 'dirs' | 'any' },
  place: SourceLine,
): string[] | undefined {
  const { files } = reader.context;
  if (files === undefined) return undefined;
  const lists: string[][] = [];
  for (const pattern of patterns) {
    const names = filesMatching(files, pattern, of);
    // Where nothing is known of other files, none is not the same as no such file.
    if (names === undefined || (names.length === 0 && files.stat(pattern) === undefined)) {
      reader.note('missing', `the files that match \`${pattern}\` are unknown or too many`, place);
      return undefined;
    }
    lists.push(names);
  }
  const [only = []] = lists;
  return lists.length <= 1 ? only : [...new Set(lists.flat())];
}

function inlineItems(
  reader: SubmitReader,
  { items, perLine }: { items: string[]; perLine: boolean },
  place: SourceLine,
  lines: Following,
): string[] | undefined {
  const all = [...items];
  for (;;) {
    const line = lines.lines[lines.at++];
    if (line === undefined) {
      reader.stop('the list of items is never closed by a line that starts with `)`', place);
      return undefined;
    }
    if (line.text.startsWith(')')) return all;
    if (!line.text.startsWith('#')) all.push(...(perLine ? [line.text] : itemsOf(line.text, false)));
  }
}

function itemsOfFile(reader: SubmitReader, name: string, place: SourceLine): string[] | undefined {
  const { files } = reader.context;
  const text = files?.read(name);
  if (text === undefined) {
    if (files?.stat(name)?.kind === 'missing' && !name.startsWith('$('))
      reader.note('no-list', `the list of items ${name} does not exist: HTCondor refuses the file`, place);
    else reader.note('list-unread', `the list of items ${name} was not read`, place);
    return undefined;
  }
  return linesOf(text);
}

const linesOf = (text: string): string[] => logicalLines(text).map((line) => line.text);

/** Folders to list and names to test for one pattern; more would take too long. */
const maxLooks = 30_000;

/**
 * What a shell pattern matches, sorted, folders with a trailing slash. Undefined where a folder's entries are unknown
 * or too many.
 */
export function filesMatching(
  files: SubmitFiles,
  pattern: string,
  of: 'files' | 'dirs' | 'any',
): string[] | undefined {
  let found: ListedName[] = [{ name: pattern.startsWith('/') ? '/' : '', isFolder: true }];
  let left = maxLooks;
  for (const part of pattern.split('/').filter((one) => one !== '')) {
    const isMatch = /[*?[]/.test(part) ? globTest(part) : undefined;
    const below: ListedName[] = [];
    for (const { name } of found.filter(({ isFolder }) => isFolder)) {
      const entries =
        isMatch === undefined ? entryOf(files, name, part) : files.list(name === '' ? '.' : name);
      left -= 1 + (entries?.length ?? 0);
      if (entries === undefined || left < 0) return undefined;
      const before = name === '' || name.endsWith('/') ? name : `${name}/`;
      for (const entry of entries)
        if (isMatch?.(entry.name) !== false) below.push({ ...entry, name: before + entry.name });
    }
    found = below;
  }
  return found
    .filter(({ isFolder }) => of === 'any' || isFolder === (of === 'dirs'))
    .map(({ name, isFolder }) => (isFolder ? `${name}/` : name))
    .sort();
}

function entryOf(files: SubmitFiles, folder: string, name: string): ListedName[] {
  const { kind = 'missing' } = files.stat(path.posix.join(folder, name)) ?? {};
  return kind === 'missing' ? [] : [{ name, isFolder: kind === 'folder' }];
}

/** Any text, or a test of one character. */
type Token = '*' | ((char: string) => boolean);

/**
 * As glob(3) does, in time bounded by the product of both lengths: Node's own never ends for `a*a*a*a*b`. The
 * pattern is read once, since a folder may have tens of thousands of names.
 */
function globTest(pattern: string): (name: string) => boolean {
  const tokens = (pattern.match(/\[!?\]?[^\]]*\]|\\?./gs) ?? []).map(tokenOf);
  const isHidden = pattern.startsWith('.');
  const last = tokens.at(-1);
  return (name) => {
    if (name.startsWith('.') && !isHidden) return false;
    if (last !== undefined && last !== '*' && !last(name.at(-1) ?? '')) return false;
    return matches(name, tokens);
  };
}

function matches(name: string, tokens: readonly Token[]): boolean {
  let [at, token, star, starAt] = [0, 0, -1, 0];
  while (at < name.length) {
    const wanted = tokens[token];
    if (wanted === '*') {
      [star, starAt] = [token, at];
      token += 1;
    } else if (wanted?.(name.charAt(at)) === true) {
      at += 1;
      token += 1;
    } else if (star >= 0) {
      token = star + 1;
      starAt += 1;
      at = starAt;
    } else return false;
  }
  while (tokens[token] === '*') token += 1;
  return token === tokens.length;
}

function tokenOf(text: string): Token {
  if (text === '*') return '*';
  if (text === '?') return () => true;
  const [, not, set] = /^\[(!?)(.+)\]$/s.exec(text) ?? [];
  if (set === undefined) {
    const wanted = text.replace(/^\\(?=.)/s, '');
    return (char) => char === wanted;
  }
  const ranges = set.match(/.-.|./gs) ?? [];
  return (char) =>
    ranges.some((range) => char >= (range[0] ?? '') && char <= (range.at(-1) ?? '')) !== (not === '!');
}
