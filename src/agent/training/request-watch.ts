import { type Clock, defined } from '@updraft/base';
import type { Resources } from '../../job/spec.ts';
import type { AgentBody, Progress, RequestShort } from '../../journal/entry.ts';
import { trainingShare } from '../../journal/training-share.ts';
import type { Recorder } from '../notes/journal-writer.ts';

/** A need that changes by less than this share is not recorded again. */
const worthRecording = 0.25;

/**
 * Compares what an attempt needs with what was requested for it, while it runs: the memory it uses, and the time it
 * will take at the pace it reports. What is too little is recorded at once, before a limit ends the attempt.
 */
export class RequestWatch {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #asked: Pick<Resources, 'memoryBytes' | 'timeSeconds'>;
  readonly #record: Recorder;
  readonly #recorded: Partial<Record<RequestShort['of'], number>> = {};
  #progress: Progress = {};
  #first: { share: number; at: number } | undefined;
  /** How long the attempt takes in all, at the pace of its training; undefined while that is unknown. */
  neededSeconds: number | undefined;

  constructor(clock: Clock, asked: Pick<Resources, 'memoryBytes' | 'timeSeconds'>, record: Recorder) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#asked = asked;
    this.#record = record;
  }

  onEntry(body: AgentBody): void {
    const { memoryBytes, timeSeconds } = this.#asked;
    if (body.kind === 'heartbeat') this.#compare('memory', body.memoryBytes, memoryBytes);
    // A training that is started again begins elsewhere.
    if (body.kind === 'training-started')
      [this.#progress, this.#first] = [defined({ firstEpoch: this.#progress.firstEpoch }), undefined];
    if (body.kind !== 'progress') return;
    this.#estimate(body);
    if (timeSeconds !== undefined && this.neededSeconds !== undefined)
      this.#compare('time', this.neededSeconds, timeSeconds);
  }

  /**
   * By the pace since the first report, which leaves out the start-up. Where nothing says
   * whether an epoch is done, it counts as done: the estimate is rather too short than a false alarm.
   */
  #estimate(progress: Progress): void {
    this.#progress = { ...this.#progress, ...progress };
    const { epochs, done, step } = this.#progress;
    const share = trainingShare(this.#progress);
    if (share === undefined) return;
    const now = (this.#clock.monotonic() - this.#startedAt) / 1000;
    this.#first ??= { share, at: now };
    const gained = share - this.#first.share;
    if (gained <= 0) return;
    const left = 1 - share - (epochs === undefined || (done ?? step) !== undefined ? 0 : 1 / epochs);
    this.neededSeconds = now + (Math.max(0, left) * (now - this.#first.at)) / gained;
  }

  /** Also records that it is enough after all, if the opposite was recorded. */
  #compare(of: RequestShort['of'], needed: number, asked: number): void {
    const before = this.#recorded[of];
    if (needed <= asked && (before === undefined || before <= asked)) return;
    const isSame = before !== undefined && Math.abs(needed - before) < before * worthRecording;
    if (isSame && needed > asked === before > asked) return;
    this.#recorded[of] = needed;
    this.#record({ kind: 'request-short', of, needed: Math.round(needed), asked });
  }
}
