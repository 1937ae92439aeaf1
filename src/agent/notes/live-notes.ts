import type { Clock } from '../../base/clock.ts';
import type { Order } from '../../job/job.ts';
import { liveMark } from '../../job/layout.ts';
import { encode } from '../../journal/codec.ts';
import type { AgentBody } from '../../journal/entry.ts';
import type { Chirp } from './chirp.ts';
import type { Note } from './notes.ts';

/** What is worth a line in the event log at once; of the others, the latest every so often. */
const news = new Set<AgentBody['kind']>([
  'agent-started',
  'phase',
  'fetch-setback',
  'fault',
  'training-started',
  'checkpoint-restored',
  'checkpoint-refused',
  'resume-checked',
  'agent-paused',
]);
const figures = new Set<AgentBody['kind']>([
  'fetch-progress',
  'fetched',
  'progress',
  'heartbeat',
  'checkpoint-saved',
]);

/** Notes that the access point sees while the attempt runs: its journal comes back only at the end. */
export function liveNote(order: Order, chirp: Chirp, clock: Clock): Note {
  const everyMs = (order.liveSeconds ?? 60) * 1000;
  const toldAt = new Map<string, number>();
  // An agent that is started again after a pause goes on counting.
  let seq = Math.floor(clock.now() / 1000);
  return (body) => {
    if (figures.has(body.kind)) {
      const now = clock.monotonic();
      if (now - (toldAt.get(body.kind) ?? -Infinity) < everyMs) return;
      toldAt.set(body.kind, now);
    } else if (!news.has(body.kind)) return;
    const t = new Date(clock.now()).toISOString();
    const { job, attempt } = order;
    chirp.log(`${liveMark}${encode({ v: 1, t, seq: seq++, job: job.id, attempt, ...body })}`);
  };
}
