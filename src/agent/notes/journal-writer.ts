import type { Clock } from '@updraft/base';
import type { WorkOrder } from '../../job/job.ts';
import { liveMark } from '@updraft/account/run-folder';
import { type AgentBody, encode, type Journal, ShortWrite } from '@updraft/account/journal';
import { Reports } from '../training/reports.ts';
import type { Chirp } from './chirp.ts';

/** Writes one entry to the attempt's journal; the caller need not wait or handle failures. */
export type Recorder = (body: AgentBody) => void;

/** With this many entries of a kind waiting for space, others of the kind are dropped. Reports come in bursts. */
const maxQueued = new Map<AgentBody['kind'], number>([
  ['heartbeat', 100],
  ['fetch-progress', 100],
  ['clean-progress', 100],
  ['progress', 10_000],
]);

/**
 * The agent's side of the attempt's journal. A full disk must neither stop the clean-up nor hide how the attempt
 * ended: what does not fit waits, in order, for the next entry or for the end, when the scratch folder is gone.
 */
export class JournalWriter {
  readonly #journal: Journal<AgentBody>;
  readonly #waiting: { body: AgentBody; at: number }[] = [];
  readonly #waitingOf = new Map<AgentBody['kind'], number>();
  #turn: Promise<void> = Promise.resolve();

  constructor(journal: Journal<AgentBody>) {
    this.#journal = journal;
  }

  readonly record: Recorder = (body) => {
    const alike = this.#waitingOf.get(body.kind) ?? 0;
    if (alike >= (maxQueued.get(body.kind) ?? Infinity)) return;
    this.#waitingOf.set(body.kind, alike + 1);
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
      const { at } = next;
      // Reports of one moment go to disk together.
      const other = this.#waiting.findIndex(
        (one, nth) => nth > 0 && (one.at !== at || one.body.kind !== 'progress'),
      );
      const together = this.#waiting.slice(0, other < 0 ? Infinity : other);
      try {
        await this.#journal.appendAt(at, ...together.map(({ body }) => body));
      } catch (error) {
        const cause = error instanceof Error ? error.cause : undefined;
        this.#written(cause instanceof ShortWrite ? cause.written : 0);
        return;
      }
      this.#written(together.length);
    }
  }

  #written(count: number): void {
    for (const { body } of this.#waiting.splice(0, count))
      this.#waitingOf.set(body.kind, (this.#waitingOf.get(body.kind) ?? 0) - 1);
  }
}

const kinds = (words: string): ReadonlySet<string> => new Set(words.split(' '));
/** Entries sent to the event log at once; of `throttled` ones, only one per interval, of reports also the extremes. */
const immediate = kinds(
  'agent-started phase fetch-setback fault training-started checkpoint-restored checkpoint-refused ' +
    'resume-checked rung agent-paused request-short progress-replaced progress-scaled metrics-refused',
);
const throttled = kinds('fetch-progress fetched progress heartbeat checkpoint-saved clean-progress');

/** Entries that the access point sees while the attempt runs: the journal itself returns only at the end. */
export function liveRecorder(order: WorkOrder, chirp: Chirp, clock: Clock): Recorder {
  const intervalMs = (order.liveSeconds ?? 60) * 1000;
  const sentAt = new Map<string, number>();
  const reports = new Reports(0);
  // The count must continue after a pause and a restart of the agent.
  let seq = Math.floor(clock.now() / 1000);
  const send = (body: AgentBody): void => {
    const t = new Date(clock.now()).toISOString();
    const { job, attempt } = order;
    chirp.log(`${liveMark}${encode({ v: 1, t, seq: seq++, job: job.id, attempt, ...body })}`);
  };
  return (body) => {
    if (body.kind === 'progress') reports.add(body);
    if (throttled.has(body.kind)) {
      const now = clock.monotonic();
      // GPUs are sampled as rarely as this, and only the heartbeat after it knows.
      const hasGpu = 'gpuPercent' in body;
      if (!hasGpu && now - (sentAt.get(body.kind) ?? -Infinity) < intervalMs) return;
      sentAt.set(body.kind, now);
    } else if (!immediate.has(body.kind)) return;
    if (body.kind === 'progress' || body.kind === 'progress-replaced')
      for (const report of reports.take()) send({ kind: 'progress', ...report });
    if (body.kind !== 'progress') send(body);
  };
}
