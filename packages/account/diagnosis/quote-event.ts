import { clip, printable, printableLines } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import type { EventKind, LogEvent } from '@updraft/htcondor/eventlog';
import type { Evidence } from '../history/history.ts';

const maxLineLength = 480;
const maxLines = 6;

/** Rows of long events that say nothing about a cause. */
const noise = /^(?:Usr |-?\d+ +- {2}|\(0\) (?:CPU times|No core)|\.\.\.$|\w+ address: <)/;
const tableRow = /^\s*(?:Partitionable Resources|[\w ]+(?:\(\w+\))?)\s+:(?:\s|$)/;
const relevantRow = /^\s*(?:Partitionable Resources|Memory|Disk)\b/;
/** Events whose first line says everything needed. */
const titleOnly: ReadonlySet<EventKind> = new Set<EventKind>(['submit', 'file-transfer', 'image-size']);

/** The lines of an event that show a cause, as written. */
export function quoteEvent(event: LogEvent, file: string): Evidence {
  // Tables keep their columns.
  const shown = textLines(event, event.text.split(/\r?\n/))
    .map((line) =>
      tableRow.test(line)
        ? printableLines(withoutSecrets(line)).trim().slice(0, maxLineLength)
        : safeLine(line),
    )
    .filter((line) => line !== '');
  return { file, offset: event.offset, at: printable(event.timeText), lines: shown.slice(0, maxLines) };
}

/** Untrusted text as one line of limited length that is safe on a terminal. */
export const safeLine = (line: string): string => clip(printable(withoutSecrets(line)).trim(), maxLineLength);

function textLines(event: LogEvent, [first = '', ...body]: string[]): string[] {
  const title = first.replace(/\([^)]*\) +/, '').replace(`${event.timeText} `, '');
  // A daemon's address is of no use to a reader.
  const [short = title] = title.split(/:? </);
  if (titleOnly.has(event.kind)) return [short];
  const isPlace = (line: string): boolean => /SlotName|GLIDEIN/.test(line);
  const said = event.kind === 'execute' ? body.filter(isPlace) : body;
  const isShown = (line: string): boolean =>
    !noise.test(line.trim()) && (!tableRow.test(line) || (isAboutResources(event) && relevantRow.test(line)));
  return [short, ...said.filter(isShown)];
}

/** Whether resource usage has to do with the end. */
function isAboutResources(event: LogEvent): boolean {
  if (event.kind === 'terminated') return event.details.termination?.normal === false;
  const [said = ''] = event.text.split('Partitionable Resources');
  return event.kind === 'evicted' && /memory|disk/i.test(said);
}
