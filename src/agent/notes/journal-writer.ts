import type { Clock } from '../../base/clock.ts';
import type { WorkOrder } from '../../job/job.ts';
import { liveMark } from '../../job/layout.ts';
import { encode } from '../../journal/codec.ts';
import type { AgentBody } from '../../journal/entry.ts';
import type { Journal } from '../../journal/file.ts';
import type { Chirp } from './chirp.ts';

/** Writes one entry to the attempt's journal; the caller need not wait or handle failures. */
export type Recorder = (body: AgentBody) => void;

/** With this many entries waiting for space, progress entries are dropped. */
const maxQueued = 100;
const droppable = new Set<AgentBody['kind']>(['heartbeat', 'progress', 'fetch-progress', 'clean-progress']);

/**
 * The agent's side of the attempt's journal. A full disk must neither stop the clean-up nor hide how the attempt
 * ended: what does not fit waits, in order, for the next entry or for the end, when the scratch folder is gone.
 */
export class JournalWriter {
  readonly #journal: Journal<AgentBody>;
  readonly #waiting: { body: AgentBody; at: number }[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(journal: Journal<AgentBody>) {
    this.#journal = journal;
  }

  readonly record: Recorder = (body) => {
    if (droppable.has(body.kind) && this.#waiting.length >= maxQueued) return;
    // The time it happened, whenever it is written.
    this.#waiting.push({ body, at: this.#journal.now() });
    this.#turn = this.#turn.then(() => this.#writeWaiting());
  };

  /** Waits until everything is written; false if some of it does not fit. */
  readonly flush = async (): Promise<boolean> => {
    this.#turn = this.#turn.then(() => this.#writeWaiting());
    await this.#turn;
    return this.#waiting.length === 0;
  };

  /** The last chance for what waits; false if the journal is incomplete. */
  async close(): Promise<boolean> {
    const isComplete = await this.flush();
    await this.#journal.close();
    return isComplete;
  }

  async #writeWaiting(): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      try {
        await this.#journal.appendAt(next.at, next.body);
      } catch {
        return;
      }
      this.#waiting.shift();
    }
  }
}

/** Entries sent to the event log at once; of `throttled` ones, only the latest per interval. */
const immediate = new Set<AgentBody['kind']>([
  'agent-started',
  'phase',
  'fetch-setback',
  'fault',
  'training-started',
  'checkpoint-restored',
  'checkpoint-refused',
  'resume-checked',
  'agent-paused',
  'request-short',
]);
const throttled = new Set<AgentBody['kind']>([
  'fetch-progress',
  'fetched',
  'progress',
  'heartbeat',
  'checkpoint-saved',
  'clean-progress',
]);

/** Entries that the access point sees while the attempt runs: the journal itself returns only at the end. */
export function liveRecorder(order: WorkOrder, chirp: Chirp, clock: Clock): Recorder {
  const intervalMs = (order.liveSeconds ?? 60) * 1000;
  const sentAt = new Map<string, number>();
  // The count must continue after a pause and a restart of the agent.
  let seq = Math.floor(clock.now() / 1000);
  return (body) => {
    if (throttled.has(body.kind)) {
      const now = clock.monotonic();
      if (now - (sentAt.get(body.kind) ?? -Infinity) < intervalMs) return;
      sentAt.set(body.kind, now);
    } else if (!immediate.has(body.kind)) return;
    const t = new Date(clock.now()).toISOString();
    const { job, attempt } = order;
    chirp.log(`${liveMark}${encode({ v: 1, t, seq: seq++, job: job.id, attempt, ...body })}`);
  };
}
