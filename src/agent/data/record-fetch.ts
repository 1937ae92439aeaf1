import { type Clock, defined } from '@updraft/base';
import type { Fault } from '../../fault/fault.ts';
import { toFaultRecord } from '../../journal/entry.ts';
import type { FetchEvent } from '@updraft/pelican/transfer';
import type { Recorder } from '../notes/journal-writer.ts';
import { releaseMemory } from '@updraft/base/processes';

const progressMs = 1000;

/** Records what happens while the agent or the plugin fetches one object. */
export function recordEvents(object: string, record: Recorder, clock: Clock): (event: FetchEvent) => void {
  let reportedAt = -Infinity;
  let noted: Fault | undefined;
  return (event) => {
    // A wait for a server follows its setback; a wait for a director is news.
    if (event.kind === 'wait' && event.fault === noted) return;
    if (event.kind !== 'progress') {
      noted = event.fault;
      record({ kind: 'fetch-setback', object, server: event.server, fault: toFaultRecord(event.fault) });
      return;
    }
    const now = clock.monotonic();
    if (now - reportedAt < progressMs) return;
    reportedAt = now;
    // What was unpacked is garbage by now, and there is a lot of it. Not more often: each time costs some milliseconds.
    releaseMemory();
    const { bytes, total, rate, server } = event;
    record({ kind: 'fetch-progress', object, bytes, rate, server, ...defined({ total }) });
  };
}

const counts = ['bytes', 'seconds', 'warmBytes', 'coldBytes'] as const;
type Delivery = { server: string; bytes: number } & Partial<Record<(typeof counts)[number], number>>;

/** What each server delivered in several fetches. */
export function byServer<Part extends Delivery>(parts: Part[]): Part[] {
  const sums = new Map<string, Part>();
  for (const part of parts) {
    const sum = { ...part, ...sums.get(part.server) };
    if (sums.has(part.server))
      for (const count of counts)
        if (count in sum)
          Object.assign(sum, { [count]: (sums.get(part.server)?.[count] ?? 0) + (part[count] ?? 0) });
    sums.set(part.server, sum);
  }
  return [...sums.values()];
}
