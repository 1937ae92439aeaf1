import type { SourceLine } from '@updraft/base';
import { type LogicalLine, logicalLines } from './split-arguments.ts';
import { expandMacros, expandSelf } from './expand-macros.ts';
import { CircularMacro } from './expansion-budget.ts';
import { readQueueStatement } from './read-queue.ts';
import { queueArguments } from './resolve-jobs.ts';
import type { Submission } from './submission.ts';
import { BadCondition, evaluateCondition, type ReaderContext, SubmitReader } from './submit-reader.ts';

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
