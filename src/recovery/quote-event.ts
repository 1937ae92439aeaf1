import { printable } from '../base/printable.ts';
import { clip } from '../base/text-table.ts';
import type { LogEvent } from '../eventlog/events.ts';
import type { EventKind } from '../eventlog/kinds.ts';
import type { Evidence } from './explanation.ts';

const longestLine = 480;
const mostLines = 6;

/** Rows of long events that say nothing of a cause. */
const dull =
  /^(?:Usr |-?\d+ +- {2}|\(0\) (?:CPU times|No core)|(?:Cpus|GPUs|Gpus|Time\w+)\b.*:|\.\.\.$|Partitionable)/;
/** Of an event in JSON or XML, what it says beyond whose it is and when. */
const telling = /Reason|Code|Message|Info|Error|ReturnValue|Signal|Normally|MyType|SlotName|Type/;
/** Events whose first line says all that is needed of them. */
const titleOnly: ReadonlySet<EventKind> = new Set<EventKind>(['submit', 'file-transfer', 'image-size']);

/** The lines of an event that a cause rests on, as they are written. */
export function quoteEvent(event: LogEvent, file: string): Evidence {
  const lines = event.text.split(/\r?\n/);
  const isText = /^\d{3} \(/.test(lines[0] ?? '');
  const said = isText ? textLines(event, lines) : lines.filter((line) => telling.test(line));
  const shown = said.map(safeLine).filter((line) => line !== '');
  return { file, offset: event.offset, at: printable(event.timeText), lines: shown.slice(0, mostLines) };
}

/** Anybody's words as one line of bearable length that is safe on a terminal. */
export const safeLine = (line: string): string => clip(printable(line).trim(), longestLine);

function textLines(event: LogEvent, [first = '', ...body]: string[]): string[] {
  const title = first.replace(/\([^)]*\) +/, '').replace(`${event.timeText} `, '');
  // An address of a daemon is of no use to a reader.
  const [short = title] = title.split(/:? </);
  if (titleOnly.has(event.kind)) return [short];
  const isPlace = (line: string): boolean => /SlotName|GLIDEIN/.test(line);
  const said = event.kind === 'execute' ? body.filter(isPlace) : body;
  return [short, ...said.filter((line) => !dull.test(line.trim()))];
}
