import { printable, printableLines, withoutSecrets } from '../base/printable.ts';
import { clip } from '../base/text-table.ts';
import type { LogEvent } from '../eventlog/events.ts';
import type { EventKind } from '../eventlog/kinds.ts';
import type { Evidence } from './explanation.ts';

const maxLineLength = 480;
const maxLines = 6;

/** Rows of long events that say nothing of a cause. */
const noise = /^(?:Usr |-?\d+ +- {2}|\(0\) (?:CPU times|No core)|\.\.\.$|\w+ address: <)/;
const tableRow = /^\s*(?:Partitionable Resources|[\w ]+(?:\(\w+\))?)\s+:(?:\s|$)/;
const relevantRow = /^\s*(?:Partitionable Resources|Memory|Disk)\b/;
/** Of an event in JSON or XML, what it says beyond whose it is and when. */
const relevant = /Reason|Code|Message|Info|Error|ReturnValue|Signal|Normally|MyType|SlotName/;
/** Events whose first line says all that is needed of them. */
const titleOnly: ReadonlySet<EventKind> = new Set<EventKind>(['submit', 'file-transfer', 'image-size']);

/** The lines of an event that a cause rests on, as they are written. */
export function quoteEvent(event: LogEvent, file: string): Evidence {
  const lines = event.text.split(/\r?\n/);
  const isText = /^\d{3} \(/.test(lines[0] ?? '');
  const said = isText ? textLines(event, lines) : lines.filter((line) => relevant.test(line));
  // A table is read by its columns.
  const shown = said
    .map((line) =>
      tableRow.test(line) ? printableLines(line).trim().slice(0, maxLineLength) : safeLine(line),
    )
    .filter((line) => line !== '');
  return { file, offset: event.offset, at: printable(event.timeText), lines: shown.slice(0, maxLines) };
}

/** Anybody's words as one line of bearable length that is safe on a terminal. */
export const safeLine = (line: string): string => clip(printable(withoutSecrets(line)).trim(), maxLineLength);

function textLines(event: LogEvent, [first = '', ...body]: string[]): string[] {
  const title = first.replace(/\([^)]*\) +/, '').replace(`${event.timeText} `, '');
  // An address of a daemon is of no use to a reader.
  const [short = title] = title.split(/:? </);
  if (titleOnly.has(event.kind)) return [short];
  const isPlace = (line: string): boolean => /SlotName|GLIDEIN/.test(line);
  const said = event.kind === 'execute' ? body.filter(isPlace) : body;
  const isShown = (line: string): boolean =>
    !noise.test(line.trim()) && (!tableRow.test(line) || (isAboutResources(event) && relevantRow.test(line)));
  return [short, ...said.filter(isShown)];
}

/** Whether what was used and asked for has to do with the end. */
function isAboutResources(event: LogEvent): boolean {
  if (event.kind === 'terminated') return event.details.termination?.normal === false;
  const [said = ''] = event.text.split('Partitionable Resources');
  return event.kind === 'evicted' && /memory|disk/i.test(said);
}
