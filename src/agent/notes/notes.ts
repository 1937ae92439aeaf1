import type { Clock } from '../../base/clock.ts';
import type { Order } from '../../job/job.ts';
import { liveMark } from '../../job/layout.ts';
import { encode } from '../../journal/codec.ts';
import type { AgentBody } from '../../journal/entry.ts';
import type { Journal } from '../../journal/file.ts';
import type { Chirp } from './chirp.ts';

/** Writes one entry to the attempt's journal; the caller need neither wait nor fear a failure. */
export type Note = (body: AgentBody) => void;

/** With this many entries waiting for room, only those that tell the attempt's fate are taken. */
const maxWaiting = 100;
const chatter = new Set<AgentBody['kind']>(['heartbeat', 'progress', 'fetch-progress', 'clean-progress']);

/**
 * The agent's side of the attempt's journal. A full disk must neither stop the clean-up nor hide how the attempt
 * ended: what finds no room waits, in order, for the next entry or for the end, when the scratch folder is gone.
 */
export class Notes {
  readonly #journal: Journal<AgentBody>;
  readonly #waiting: { body: AgentBody; at: number }[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(journal: Journal<AgentBody>) {
    this.#journal = journal;
  }

  readonly note: Note = (body) => {
    if (chatter.has(body.kind) && this.#waiting.length >= maxWaiting) return;
    // It happened now, whenever it is written.
    this.#waiting.push({ body, at: this.#journal.now() });
    this.#turn = this.#turn.then(() => this.#writeWaiting());
  };

  /** Waits for what was noted; false when some of it finds no room. */
  readonly isWritten = async (): Promise<boolean> => {
    this.#turn = this.#turn.then(() => this.#writeWaiting());
    await this.#turn;
    return this.#waiting.length === 0;
  };

  /** The last chance for what waits; false when the journal is not complete. */
  async close(): Promise<boolean> {
    const isWritten = await this.isWritten();
    await this.#journal.close();
    return isWritten;
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
  'clean-progress',
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
