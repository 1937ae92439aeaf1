import { defined } from '@updraft/base';
import { isAd } from '../classad/ad.ts';
import { parseAdValue } from '../classad/parse.ts';
import type { Resource, SubmitDetails, Termination, TransferredBytes } from './details.ts';
import { decodeText, isDigit, remembering } from './log-text.ts';

/** The codes of a text, one per character. */
type Codes = Uint8Array | Uint16Array;

export const codesOf = (text: string): Uint16Array => Uint16Array.from(text, (char) => char.charCodeAt(0));

/** What follows the time of an event: the rest of its first line, and the other lines. */
export class TextBody {
  readonly text: string;
  /** Its codes begin here, at `at`: engines read a byte several times as fast as a character of a part of a string. */
  readonly codes: Codes;
  readonly at: number;
  #title: string | undefined;
  #lines: string[] | undefined;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.text = decodeText(bytes, start, end);
    // Otherwise a character has several bytes.
    const isBytes = this.text.length === end - start;
    this.codes = isBytes ? bytes : codesOf(this.text);
    this.at = isBytes ? start : 0;
  }

  get title(): string {
    if (this.#title !== undefined) return this.#title;
    const end = this.text.indexOf('\n');
    return (this.#title = (end === -1 ? this.text : this.text.slice(0, end)).trim());
  }

  /** As written, without line ends. */
  get lines(): string[] {
    return (this.#lines ??= linesAfterFirst(this.text));
  }
}

function linesAfterFirst(text: string): string[] {
  const end = text.indexOf('\n');
  if (end === -1 || end === text.length - 1) return [];
  const lines = text.includes('\r') ? text.split(/\r*\n|\r+$/) : text.split('\n');
  lines.shift();
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines;
}

/** The lines after the first that contain a word. Most lines of an event are of no interest and not even split. */
export function linesWith(word: string, { text }: TextBody): string[] {
  const lines: string[] = [];
  let end = text.indexOf('\n');
  while (end !== -1) {
    const at = text.indexOf(word, end);
    if (at === -1) break;
    const start = text.lastIndexOf('\n', at) + 1;
    end = text.indexOf('\n', at);
    lines.push(text.slice(start, end === -1 ? undefined : end));
  }
  return lines;
}

/** The first group of the first line that matches. */
export function find(lines: readonly string[], pattern: RegExp): string | undefined {
  for (const line of lines) {
    const match = pattern.exec(line);
    if (match) return match[1];
  }
  return undefined;
}

export function findNumber(lines: readonly string[], pattern: RegExp): number | undefined {
  const text = find(lines, pattern);
  const value = Number(text);
  return text === undefined || Number.isNaN(value) ? undefined : value;
}

/** A reason or message of one or more lines; undefined if they are blank. */
export function paragraph(lines: readonly string[]): string | undefined {
  const text = lines
    .map((line) => line.trim())
    .join('\n')
    .trim();
  return text === '' ? undefined : text;
}

export const countOf = (body: TextBody, words: string): number | undefined =>
  countBefore(body, body.text.indexOf(words, body.text.indexOf('\n')));

const dash = codesOf('  -  ');

/** The figure in front of the words at `at`, if nothing else is there. */
function countBefore(body: TextBody, at: number): number | undefined {
  const { codes, at: first } = body;
  const end = first + at - dash.length;
  if (end <= first || !hasAt(codes, end, dash) || !isDigit(codes[end - 1])) return undefined;
  let start = end;
  while (start > first && codes[start - 1] !== newline) start -= 1;
  const figure = figureAt(body, start, end);
  return figure !== undefined && figure >= 0 ? figure : undefined;
}

const newline = 0x0a;

/** Whether the word is there. */
export function hasAt(codes: Codes, at: number, word: Codes): boolean {
  for (let index = 0; index < word.length; index++) if (codes[at + index] !== word[index]) return false;
  return true;
}

const run = codesOf('Run ');

/** Of a line that is repeated, the last counts. */
export function readTransferredBytes(body: TextBody): TransferredBytes {
  const bytes: TransferredBytes = {};
  const { text, codes, at: first } = body;
  for (let at = text.indexOf('Bytes '); at !== -1; at = text.indexOf('Bytes ', at + 1)) {
    const name = text.startsWith('Sent By', at + 6) ? 'runSent' : 'runReceived';
    if (name === 'runReceived' && !text.startsWith('Received By', at + 6)) continue;
    const count = hasAt(codes, first + at - run.length, run) ? countBefore(body, at - run.length) : undefined;
    if (count !== undefined) bytes[name] = count;
  }
  return bytes;
}

export function terminationOf(body: TextBody): Termination | undefined {
  for (const line of linesWith('ormal termination (', body)) {
    const match =
      /\([01]\) (?:Normal termination \(return value (-?\d+)\)|Abnormal termination \(signal (-?\d+)\))/.exec(
        line,
      );
    if (!match) continue;
    return match[1] === undefined
      ? { normal: false, signal: Number(match[2]) }
      : { normal: true, returnValue: Number(match[1]) };
  }
  return undefined;
}

const ended = /Job terminated (?:of its own accord|by itself) at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z/;

/** When a job ended by the execution point's account, in milliseconds since the epoch. */
export function endedByItself(body: TextBody): number | undefined {
  const time = Date.parse(`${find(linesWith('Job terminated ', body), ended) ?? ''}Z`);
  return Number.isNaN(time) ? undefined : time;
}

const isTableHead = (line: string): boolean => /^\s*Partitionable Resources\s*:/.test(line);

/** The rows of the table of resources. Any cell may be empty, so rows are cut where the columns of the head end. */
export function resourcesOf(body: TextBody): Resource[] {
  const { text, codes, at } = body;
  const head = linesWith('Partitionable Resources', body).find(isTableHead);
  if (head === undefined) return [];
  const edges = edgesOf(head);
  const resources: Resource[] = [];
  const last = at + text.length;
  for (let end = at + text.indexOf(head) + head.length; end < last;) {
    const start = end + 1;
    const next = text.indexOf('\n', start - at);
    end = next === -1 ? last : at + next;
    let colon = start + 1;
    while (colon < end && (codes[colon] !== 0x3a || !isBlank(codes[colon - 1] ?? 0))) colon += 1;
    const column = colon < end ? columnAt(resources.length, body, start, colon) : undefined;
    if (column === undefined) break;
    resources.push(resourceOf(column, body, colon + 1, end, edges));
  }
  return resources;
}

/** Where the cells of the first columns end, counted from the colon. */
interface Edges {
  usage: number;
  request: number;
  allocated: number;
}

const edgesOf = remembering((head): Edges => {
  const cells = head.slice(head.search(/\s:/) + 2);
  const endOf = (name: string): number => cells.indexOf(name) + name.length;
  const request = endOf('Request');
  const allocated = cells.includes('Allocated') ? endOf('Allocated') : request;
  return { usage: endOf('Usage'), request, allocated: Math.max(allocated, request) };
});

function resourceOf(
  { name, unit }: Column,
  body: TextBody,
  from: number,
  to: number,
  edges: Edges,
): Resource {
  const [first, second, third] = [from + edges.usage, from + edges.request, from + edges.allocated];
  let usage = figureAt(body, from, Math.min(first, to));
  let request = figureAt(body, first, Math.min(second, to));
  let allocated = figureAt(body, second, Math.min(third, to));
  if (usage === undefined || request === undefined || allocated === undefined) {
    // A figure wider than its column, or tabs for spaces: the positions are lost, the order is not.
    const [one, two, three] = wordEnds(body.codes, from, to);
    usage = figureAt(body, from, one) ?? NaN;
    request = figureAt(body, one, two) ?? NaN;
    allocated = figureAt(body, two, three) ?? NaN;
  }
  const isFull = Number.isFinite(usage + request + allocated);
  // An object that does not grow takes a third of the memory.
  if (isFull)
    return unit === undefined
      ? { name, usage, request, allocated }
      : { name, unit, usage, request, allocated };
  const resource: Resource = { name };
  if (unit !== undefined) resource.unit = unit;
  if (Number.isFinite(usage)) resource.usage = usage;
  if (Number.isFinite(request)) resource.request = request;
  if (Number.isFinite(allocated)) resource.allocated = allocated;
  return resource;
}

type Column = Pick<Resource, 'name' | 'unit'>;

const columnOf = remembering((label): Column => {
  const [, name = label, unit] = /^(.*?)\s*\(([^)]*)\)$/.exec(label) ?? [];
  return defined({ name, unit });
});

/** By row, what stood before its colon in the latest table: most tables of a log have the same rows. */
const latestColumns: { codes: Codes; column: Column }[] = [];
const maxLatest = 32;

/** What stands before the colon; undefined if nothing does. */
function columnAt(
  row: number,
  { text, codes, at }: TextBody,
  start: number,
  colon: number,
): Column | undefined {
  const latest = latestColumns[row];
  if (latest?.codes.length === colon - start && hasAt(codes, start, latest.codes)) return latest.column;
  const label = text.slice(start - at, colon - at).trim();
  if (label === '') return undefined;
  const column = columnOf(label);
  if (row < maxLatest) latestColumns[row] = { codes: codes.slice(start, colon), column };
  return column;
}

/** The only word of a part as a figure: NaN if it is none, or there is no word; undefined if there are more. */
function figureAt({ text, codes, at: first }: TextBody, from: number, to: number): number | undefined {
  let start = from;
  while (start < to && isBlank(codes[start] ?? 0)) start += 1;
  let end = start;
  let value = 0;
  let scale = 0;
  for (let code; end < to && !isBlank((code = codes[end] ?? 0)); end++) {
    if (code === 0x2e && scale === 0) scale = 1;
    else {
      value = value * 10 + (isDigit(code) ? code - 0x30 : NaN);
      scale *= 10;
    }
  }
  for (let at = end; at < to; at++) if (!isBlank(codes[at] ?? 0)) return undefined;
  if (start === end) return NaN;
  // Most figures are short, and need no string of their own.
  const isShort = value < 1e15 && isDigit(codes[start]);
  return isShort ? value / (scale || 1) : Number(text.slice(start - first, end - first));
}

/** Where the first three words end. */
function wordEnds(codes: Codes, from: number, to: number): [number, number, number] {
  const ends: [number, number, number] = [to, to, to];
  let at = from;
  for (let word = 0; word < ends.length; word++) {
    while (at < to && isBlank(codes[at] ?? 0)) at += 1;
    while (at < to && !isBlank(codes[at] ?? 0)) at += 1;
    ends[word] = at;
  }
  return ends;
}

/** Whether a character is `\s`. */
const isBlank = (code: number): boolean =>
  code === 0x20 || (code >= 0x09 && code <= 0x0d) || (code >= 0xa0 && /\s/.test(String.fromCharCode(code)));

export function submitOf({ title, lines }: TextBody): SubmitDetails {
  const details: SubmitDetails = defined({ host: find([title], /from host: (.*\S)/), notes: [] });
  for (const line of lines.map((each) => each.trim())) {
    const structured = /^\[.*\]$/.test(line) ? parseAdValue(line) : undefined;
    if (structured !== undefined && isAd(structured)) {
      if (typeof structured.JobBatchName === 'string') details.batchName = structured.JobBatchName;
      if (typeof structured.DAGNodeName === 'string') details.dagNode = structured.DAGNodeName;
    } else if (line.startsWith('DAG Node: ')) details.dagNode = line.slice(10);
    else if (line !== '' && !line.startsWith('WARNING: ')) details.notes.push(line);
  }
  return details;
}

/** The text before the table: after `Reason:`, or, for a requeued job, all lines that are not known ones. */
export function evictionReason(lines: readonly string[], requeued: boolean): string | undefined {
  const table = lines.findIndex(isTableHead);
  const before = table === -1 ? lines : lines.slice(0, table);
  const known = /^\s*(?:\([01]\) |Usr \d|\d+ {2}- {2})/;
  const at = before.findIndex((line) => /^\s*Reason: /.test(line));
  if (at !== -1) return paragraph(before.slice(at))?.slice('Reason: '.length);
  return requeued ? paragraph(before.filter((line) => !known.test(line))) : undefined;
}
