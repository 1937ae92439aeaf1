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

/** What follows the time of an event: the rest of its first line, and the other lines. */
export class TextBody {
  readonly text: string;
  #lines: string[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get title(): string {
    const end = this.text.indexOf('\n');
    return (end === -1 ? this.text : this.text.slice(0, end)).trim();
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

export function readTransferredBytes(lines: readonly string[]): TransferredBytes {
  const bytes: TransferredBytes = {};
  for (const line of lines) {
    if (!line.includes(' Bytes ')) continue;
    const match = /^\s*(\d+(?:\.\d+)?) {2}- {2}(Run|Total) Bytes (Sent|Received) By/.exec(line);
    if (match)
      bytes[`${match[2] === 'Run' ? 'run' : 'total'}${match[3] as 'Sent' | 'Received'}`] = Number(match[1]);
  }
  return bytes;
}

export function terminationOf(lines: readonly string[]): Termination | undefined {
  for (const line of lines) {
    const match =
      /\([01]\) (?:Normal termination \(return value (-?\d+)\)|Abnormal termination \(signal (-?\d+)\))/.exec(
        line,
      );
    if (!match) continue;
    if (match[1] !== undefined) return { normal: true, returnValue: Number(match[1]) };
    const coreFile = find(lines, /\(1\) Corefile in: (.*\S)/);
    return { normal: false, signal: Number(match[2]), ...defined({ coreFile }) };
  }
  return undefined;
}

const ended =
  /Job terminated (?:of its own accord|by itself) at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z(?: with (exit-code|signal) (-?\d+))?/;

export function endedByItself(lines: readonly string[]): EndedByItself | undefined {
  for (const line of lines) {
    if (!line.includes('Job terminated ')) continue;
    const match = ended.exec(line);
    const time = match ? Date.parse(`${match[1] ?? ''}Z`) : NaN;
    if (!match || Number.isNaN(time)) continue;
    if (match[2] === undefined) return { time };
    return { time, [match[2] === 'signal' ? 'signal' : 'exitCode']: Number(match[3]) };
  }
  return undefined;
}

function isTableHead(line: string): boolean {
  return line.includes('Partitionable') && /^\s*Partitionable Resources\s*:/.test(line);
}

/** The rows of the table of resources. Any cell may be empty, so rows are cut where the columns of the head end. */
export function resourcesOf(lines: readonly string[]): Resource[] {
  const at = lines.findIndex(isTableHead);
  if (at === -1) return [];
  const head = afterColon(lines[at] ?? '')?.cells ?? '';
  const edges = ['Usage', 'Request', 'Allocated'].map((name) => head.indexOf(name) + name.length);
  const resources: Resource[] = [];
  for (const line of lines.slice(at + 1)) {
    const row = afterColon(line);
    if (!row) break;
    resources.push(resourceOf(row.label, cut(row.cells, edges, head)));
  }
  return resources;
}

function afterColon(line: string): { label: string; cells: string } | undefined {
  const before = line.search(/\s:/);
  const label = line.slice(0, Math.max(before, 0)).trim();
  return label === '' ? undefined : { label, cells: line.slice(before + 2) };
}

const blank = /\s/;

function cut(cells: string, edges: readonly number[], head: string): string[] {
  const [usage = 0, request = 0, allocated = 0] = edges;
  const end = head.includes('Allocated') ? allocated : request;
  const first = cells.slice(0, usage).trim();
  const second = cells.slice(usage, request).trim();
  const third = cells.slice(request, Math.max(end, request)).trim();
  if (!blank.test(first) && !blank.test(second) && !blank.test(third))
    return [first, second, third, cells.slice(end).trim()];
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
