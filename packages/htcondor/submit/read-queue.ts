import { counted, defined, type SourceLine } from '@updraft/base';
import { type LogicalLine, logicalLines } from './split-arguments.ts';
import { expandMacros } from './expand-macros.ts';
import { CircularMacro } from './expansion-budget.ts';
import { filesMatching } from './match-files.ts';
import {
  BadQueue,
  itemsOf,
  type ItemSource,
  parseQueue,
  type QueueStatement,
  resolveJobs,
} from './resolve-jobs.ts';
import type { SubmitReader } from './submit-reader.ts';

interface Following {
  lines: LogicalLine[];
  at: number;
}

/** HTCondor 25 accepts only one; the jobs of more are counted, not resolved. */
const maxQueues = 500;

/** Reads one queue statement with its items and resolves its first jobs. */
export function readQueueStatement(
  reader: SubmitReader,
  text: string,
  place: SourceLine,
  lines: Following,
): void {
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
      `the list has ${counted(blank, 'blank line')}: ${blank === 1 ? 'it' : 'each'} makes a job, with the values of the line before`,
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
    total: items === undefined ? undefined : total,
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
