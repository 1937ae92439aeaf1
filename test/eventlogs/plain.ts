import { createParser, datingOf, type StampOptions } from '@updraft/htcondor/testing';
import type { Garbled, LogEvent } from '@updraft/htcondor/eventlog';

/** Where the fixtures' dates without a year end, and their zone: the same on every machine. */
export const stamps = { reference: Date.UTC(2026, 10, 15), offsetMinutes: 0 };

/** Everything an event tells, as plain data. */
export function plain(event: LogEvent): Record<string, unknown> {
  const { kind, number, cluster, proc, subproc, time, zone, timeText, whole, offset, text, details } = event;
  return { kind, number, cluster, proc, subproc, time, zone, timeText, whole, offset, text, details };
}

const beginningSize = 1024 * 1024;

/** All events of a log in memory, and the parts that are not events. */
export function parseEventLog(
  log: Uint8Array,
  options: StampOptions,
): { events: LogEvent[]; garbled: Garbled[] } {
  const events: LogEvent[] = [];
  const garbled: Garbled[] = [];
  const parser = createParser({
    within: datingOf(log.subarray(0, beginningSize)).moment,
    ...options,
    onEvent: (event) => events.push(event),
    onGarbled: (part) => garbled.push(part),
  });
  parser.feed(log);
  parser.end();
  return { events, garbled };
}

export function parseText(text: string): LogEvent[] {
  return parseEventLog(Buffer.from(text), stamps).events;
}

/** The only event of a log. */
export function only(text: string): LogEvent {
  const events = parseText(text);
  if (events.length !== 1 || !events[0]) throw new Error(`${events.length} events in ${text}`);
  return events[0];
}

/** Events and garbled parts of a log fed in pieces of these sizes, over and over. */
export function parseInPieces(
  log: Uint8Array,
  sizes: readonly number[],
): { events: LogEvent[]; garbled: Garbled[] } {
  const events: LogEvent[] = [];
  const garbled: Garbled[] = [];
  const parser = createParser({
    ...stamps,
    onEvent: (event) => events.push(event),
    onGarbled: (part) => garbled.push(part),
  });
  for (let at = 0, turn = 0; at < log.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    // A copy, because a piece belongs to the parser; now and then with room before it.
    const headroom = (turn % 3) * 40;
    parser.feed(Buffer.concat([Buffer.alloc(headroom, '!'), log.subarray(at, at + size)]), headroom);
    at += size;
  }
  parser.end();
  return { events, garbled };
}
