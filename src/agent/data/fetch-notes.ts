import type { Clock } from '../../base/clock.ts';
import { defined } from '../../base/defined.ts';
import type { Fault } from '../../fault/fault.ts';
import { recordOf } from '../../journal/entry.ts';
import type { FetchEvent } from '../../transfer/fetch.ts';
import type { Note } from '../notes/notes.ts';
import { releaseMemory } from './release-memory.ts';

const progressEveryMs = 1000;

/** Writes down what happens in the fetch of one object, whoever fetches it: the agent, or the plugin. */
export function recordEvents(object: string, note: Note, clock: Clock): (event: FetchEvent) => void {
  let toldAt = -Infinity;
  let noted: Fault | undefined;
  return (event) => {
    // A wait for a server comes after its setback, one for a director is news.
    if (event.kind === 'wait' && event.fault === noted) return;
    if (event.kind !== 'progress') {
      noted = event.fault;
      note({ kind: 'fetch-setback', object, server: event.server, fault: recordOf(event.fault) });
      return;
    }
    const now = clock.monotonic();
    if (now - toldAt < progressEveryMs) return;
    toldAt = now;
    // What was unpacked is garbage by now, and there is a lot of it. Each time costs some milliseconds, so that it is not done more often.
    releaseMemory();
    const { bytes, total, rate, server } = event;
    note({ kind: 'fetch-progress', object, bytes, rate, server, ...defined({ total }) });
  };
}
