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
import { ownCopy } from './log-text.ts';

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
function linesWith(word: string, { text }: TextBody): string[] {
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

export function readTransferredBytes(body: TextBody): TransferredBytes {
  const bytes: TransferredBytes = {};
  for (const line of linesWith('Bytes ', body)) {
    const match = /^\s*(\d+(?:\.\d+)?) {2}- {2}(Run|Total) Bytes (Sent|Received) By/.exec(line);
    if (match)
      bytes[`${match[2] === 'Run' ? 'run' : 'total'}${match[3] as 'Sent' | 'Received'}`] = Number(match[1]);
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

function isTableHead(line: string): boolean {
  return /^\s*Partitionable Resources\s*:/.test(line);
}

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
    const row = text.slice(start, end);
    const colon = row.search(/\s:/);
    const label = row.slice(0, Math.max(colon, 0)).trim();
    if (label === '') break;
    resources.push(resourceOf(label, cut(row.slice(colon + 2), edges)));
  }
  return resources;
}

/** Where the cells of the first columns end, counted from the colon. */
interface Edges {
  usage: number;
  request: number;
  allocated: number;
}

function edgesOf(head: string): Edges {
  const cells = head.slice(head.search(/\s:/) + 2);
  const endOf = (name: string): number => cells.indexOf(name) + name.length;
  const request = endOf('Request');
  const allocated = cells.includes('Allocated') ? endOf('Allocated') : request;
  return { usage: endOf('Usage'), request, allocated: Math.max(allocated, request) };
}

const blank = /\s/;

function cut(cells: string, { usage, request, allocated }: Edges): string[] {
  const first = cells.slice(0, usage).trim();
  const second = cells.slice(usage, request).trim();
  const third = cells.slice(request, allocated).trim();
  if (!blank.test(first) && !blank.test(second) && !blank.test(third))
    return [first, second, third, cells.slice(allocated).trim()];
  // An editor has replaced spaces by tabs: the positions are lost, the order is not.
  return cells.trim().split(/\s+/);
}

function resourceOf(label: string, [usage, request, allocated, assigned]: string[]): Resource {
  const match = label.endsWith(')') ? /^(.*?)\s*\(([^)]*)\)$/.exec(label) : null;
  const resource: Resource = { name: match?.[1] ?? label };
  if (match?.[2] !== undefined) resource.unit = match[2];
  if (isFigure(usage)) resource.usage = Number(usage);
  if (isFigure(request)) resource.request = Number(request);
  if (isFigure(allocated)) resource.allocated = Number(allocated);
  if (assigned !== undefined && assigned !== '') resource.assigned = assigned.replaceAll(/^"|"$/g, '');
  return resource;
}

const isFigure = (cell: string | undefined): boolean =>
  cell !== undefined && cell !== '' && Number.isFinite(Number(cell));

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
