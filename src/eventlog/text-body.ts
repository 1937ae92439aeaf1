import { defined } from '../base/defined.ts';
import { isAd } from '../classad/ad.ts';
import { parseAdValue } from '../classad/parse.ts';
import type {
  EndedByItself,
  Resource,
  SubmitDetails,
  Termination,
  TransferredBytes,
  Usage,
  Usages,
} from './details.ts';
import { isDigit, ownCopy, remembering } from './log-text.ts';

/** What follows the time of an event: the rest of its first line, and the other lines. */
export class TextBody {
  readonly text: string;
  #title: string | undefined;
  #lines: string[] | undefined;

  constructor(text: string) {
    this.text = text;
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
  const lines = text.includes('\r') ? text.split(/\r*\n|\r+$/) : text.split('\n');
  lines.shift();
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines;
}

/** The lines after the first that contain a word. Most lines of an event are of no interest: they are not even split. */
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

/** `Usr 0 00:12:54, Sys 0 00:00:26`. */
export function usageOf(text: string): Usage | undefined {
  const match = /Usr (\d+) (\d+):(\d+):(\d+), Sys (\d+) (\d+):(\d+):(\d+)/.exec(text);
  return match ? { userSeconds: secondsAt(match, 1), systemSeconds: secondsAt(match, 5) } : undefined;
}

/** Days, hours, minutes and seconds, in four groups from `group` on. */
function secondsAt(match: RegExpExecArray, group: number): number {
  const hours = Number(match[group]) * 24 + Number(match[group + 1]);
  return (hours * 60 + Number(match[group + 2])) * 60 + Number(match[group + 3]);
}

export function usagesOf(lines: readonly string[]): Usages {
  const usages: Usages = {};
  for (const line of lines) {
    const match = / {2}- {2}(Run|Total) (Remote|Local) Usage/.exec(line);
    const usage = match && usageOf(line);
    if (usage) usages[`${match[1] === 'Run' ? 'run' : 'total'}${match[2] as 'Remote' | 'Local'}`] = usage;
  }
  return usages;
}

/** The figure of a line like `47  -  MemoryUsage of job (MB)`. */
export const countOf = ({ text }: TextBody, words: string): number | undefined =>
  countBefore(text, text.indexOf(words, text.indexOf('\n')));

/** The figure in front of the words at `at`, if nothing else is there. */
function countBefore(text: string, at: number): number | undefined {
  const end = at - 5;
  if (!text.startsWith('  -  ', end) || !isDigit(text.charCodeAt(end - 1))) return undefined;
  const figure = figureAt(text, text.lastIndexOf('\n', end) + 1, end);
  return figure !== undefined && figure >= 0 ? figure : undefined;
}

/** Of a line that is repeated, the last counts. */
export function readTransferredBytes({ text }: TextBody): TransferredBytes {
  const bytes: TransferredBytes = {};
  const word = ' Bytes ';
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const isSent = text.startsWith('Sent By', at + word.length);
    if (!isSent && !text.startsWith('Received By', at + word.length)) continue;
    const isRun = text.startsWith('Run', at - 3);
    const count =
      isRun || text.startsWith('Total', at - 5) ? countBefore(text, at - (isRun ? 3 : 5)) : undefined;
    if (count === undefined) continue;
    if (isRun) bytes[isSent ? 'runSent' : 'runReceived'] = count;
    else bytes[isSent ? 'totalSent' : 'totalReceived'] = count;
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
    if (match[1] !== undefined) return { normal: true, returnValue: Number(match[1]) };
    const coreFile = find(body.lines, /\(1\) Corefile in: (.*\S)/);
    return {
      normal: false,
      signal: Number(match[2]),
      ...defined({ coreFile: coreFile && ownCopy(coreFile) }),
    };
  }
  return undefined;
}

const ended =
  /Job terminated (?:of its own accord|by itself) at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z(?: with (exit-code|signal) (-?\d+))?/;

export function endedByItself(body: TextBody): EndedByItself | undefined {
  for (const line of linesWith('Job terminated ', body)) {
    const match = ended.exec(line);
    const time = match ? Date.parse(`${match[1] ?? ''}Z`) : NaN;
    if (!match || Number.isNaN(time)) continue;
    if (match[2] === undefined) return { time };
    return { time, [match[2] === 'signal' ? 'signal' : 'exitCode']: Number(match[3]) };
  }
  return undefined;
}

const isTableHead = (line: string): boolean => /^\s*Partitionable Resources\s*:/.test(line);

/** The rows of the table of resources. Any cell may be empty, so rows are cut where the columns of the head end. */
export function resourcesOf(body: TextBody): Resource[] {
  const head = linesWith('Partitionable Resources', body).find(isTableHead);
  if (head === undefined) return [];
  const edges = edgesOf(head);
  const resources: Resource[] = [];
  const { text } = body;
  for (let end = text.indexOf(head) + head.length; end < text.length;) {
    const start = end + 1;
    end = text.indexOf('\n', start);
    if (end === -1) end = text.length;
    let colon = text.indexOf(':', start + 1);
    while (colon !== -1 && colon < end && !isBlank(text.charCodeAt(colon - 1)))
      colon = text.indexOf(':', colon + 1);
    const label = colon === -1 || colon > end ? '' : text.slice(start, colon).trim();
    if (label === '') break;
    resources.push(resourceOf(label, text, colon + 1, end, edges));
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

function resourceOf(label: string, text: string, from: number, to: number, edges: Edges): Resource {
  const [first, second, third] = [from + edges.usage, from + edges.request, from + edges.allocated];
  let usage = figureAt(text, from, Math.min(first, to));
  let request = figureAt(text, first, Math.min(second, to));
  let allocated = figureAt(text, second, Math.min(third, to));
  let assigned = third < to ? text.slice(third, to).trim() : '';
  if (usage === undefined || request === undefined || allocated === undefined) {
    // An editor has replaced spaces by tabs: the positions are lost, the order is not.
    const words = text.slice(from, to).trim().split(/\s+/);
    [usage = NaN, request = NaN, allocated = NaN] = words.slice(0, 3).map(Number);
    assigned = words[3] ?? '';
  }
  const { name, unit } = columnOf(label);
  const isFull = assigned === '' && Number.isFinite(usage + request + allocated);
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
  if (assigned !== '') resource.assigned = assigned.replaceAll(/^"|"$/g, '');
  return resource;
}

/** What stands before the colon. */
const columnOf = remembering((label): Pick<Resource, 'name' | 'unit'> => {
  const [, name = label, unit] = /^(.*?)\s*\(([^)]*)\)$/.exec(label) ?? [];
  return defined({ name, unit });
});

/** The only word of a part as a figure: NaN if it is none, or there is no word; undefined if there are more. */
function figureAt(text: string, from: number, to: number): number | undefined {
  let start = from;
  while (start < to && isBlank(text.charCodeAt(start))) start += 1;
  let end = start;
  let value = 0;
  let scale = 0;
  for (let code; end < to && !isBlank((code = text.charCodeAt(end))); end++) {
    if (code === 0x2e && scale === 0) scale = 1;
    else {
      value = value * 10 + (isDigit(code) ? code - 0x30 : NaN);
      scale *= 10;
    }
  }
  for (let at = end; at < to; at++) if (!isBlank(text.charCodeAt(at))) return undefined;
  if (start === end) return NaN;
  // Most figures are short, and need no string of their own.
  const isShort = value < 1e15 && isDigit(text.charCodeAt(start));
  return isShort ? value / (scale || 1) : Number(text.slice(start, end));
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
    else if (line.startsWith('WARNING: '))
      details.warnings = line.replace(/^WARNING: (?:.*warning\(s\): )?/, '');
    else if (line !== '') details.notes.push(line);
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
