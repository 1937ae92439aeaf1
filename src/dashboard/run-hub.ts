import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@updraft/base';
import { asFault } from '@updraft/account/fault';
import { runFiles } from '@updraft/account/run-folder';
import { endedBadly, type JobState, type RunState } from '@updraft/account/journal';
import { boardOf } from './board.ts';
import { CurveBook } from './curve-book.ts';
import { jobRow } from './job-row.ts';
import type { Board, BoardUpdate, BoardRow, MetricCurves } from './page-data.ts';
import { actionOn, type RunSource } from './run-source.ts';

/** Updates are at least this far apart. */
const minIntervalMs = 250;
/** Between polls of an unreadable folder or of a run that has ended. */
const retryMs = 2000;

interface CachedRow {
  job: JobState;
  row: BoardRow;
  text: string;
  /** The version in which the row last changed. */
  version: number;
}

/** Changes since a mark, and the mark for the next request. */
export interface MarkedChange extends BoardUpdate {
  mark: string;
}

/** Follows one run; each row knows when it last changed, so that changes since any mark can be sent. */
export class RunHub {
  readonly source: RunSource;
  readonly #curves: CurveBook;
  readonly #clock: Clock;
  readonly #rows = new Map<string, CachedRow>();
  readonly #listeners = new Set<() => void>();
  /** Marks of another epoch (another hub, or restarted journals) are invalid. */
  #epoch = newEpoch();
  #version = 0;
  state: RunState | undefined;
  #board: Board | undefined;
  /** Why the run cannot be read now. */
  trouble: string | null = null;

  constructor(source: RunSource, clock: Clock) {
    this.source = source;
    this.#curves = new CurveBook(source.folder);
    this.#clock = clock;
  }

  /** A metric of all jobs, or of one; empty until the run has been read. */
  curvesOf(metric: string, job?: JobState): Promise<MetricCurves> {
    return this.#curves.read(job === undefined ? (this.state?.jobs ?? []) : [job], metric);
  }

  /** Calls the listener after every change; returns a function that ends this. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What is new since the mark; everything for an unknown mark. Undefined until the run has been read. */
  changesSince(mark: string | undefined): MarkedChange | undefined {
    if (this.#board === undefined) return undefined;
    const [epoch, version] = mark?.split('.') ?? [];
    const known = epoch === this.#epoch ? Number(version) : 0;
    const rows = [...this.#rows.values()].filter((kept) => kept.version > known).map(({ row }) => row);
    const reset = epoch !== this.#epoch;
    return { board: this.#board, rows, reset, mark: `${this.#epoch}.${this.#version}` };
  }

  /** Updates what depends only on the time, such as agents that no longer report. */
  refresh(): void {
    if (this.state !== undefined) this.update(this.state);
  }

  update(state: RunState): void {
    const now = this.#clock.now();
    if (state.jobs.length < this.#rows.size) this.#forget();
    this.#version += 1;
    for (const job of state.jobs) this.#updateJob(job, now);
    this.state = state;
    const { source } = this;
    const ended = state.endedAt !== undefined || state.stopRequested;
    const stop = ended ? null : actionOn(source, 'stop');
    const retry = state.jobs.some(endedBadly) ? actionOn(source, 'retry') : null;
    this.#board = boardOf(state, { place: source.place, trouble: this.trouble, stop, retry }, now);
    for (const listener of this.#listeners) listener();
  }

  /** Follows the run until the signal aborts, also after read errors and retries of an ended run. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        for await (const state of this.source.follow(signal)) {
          this.trouble = null;
          this.update(state);
          await this.#clock.sleep(minIntervalMs, signal);
        }
        await this.#waitForGrowth(signal);
      } catch (error) {
        if (isOver(signal)) return;
        this.trouble = asFault(error).message;
        this.refresh();
        await this.#clock.sleep(retryMs, signal).catch(() => undefined);
      }
    }
  }

  #updateJob(job: JobState, now: number): void {
    const known = this.#rows.get(job.id);
    if (known?.job === job && job.status !== 'running') return;
    const row = jobRow(job, now);
    const text = JSON.stringify(row);
    const version = known?.text === text ? known.version : this.#version;
    this.#rows.set(job.id, { job, row, text, version });
  }

  #forget(): void {
    this.#rows.clear();
    this.#epoch = newEpoch();
  }

  /** A retry of an ended run makes its journal grow. */
  async #waitForGrowth(signal: AbortSignal): Promise<void> {
    const journal = path.join(this.source.folder, runFiles.journal);
    const size = async () => (await stat(journal).catch(() => undefined))?.size;
    const before = await size();
    while ((await size()) === before) await this.#clock.sleep(retryMs, signal);
  }
}

/** A function, because TypeScript would assume that `aborted` never changes. */
const isOver = ({ aborted }: AbortSignal): boolean => aborted;

const newEpoch = (): string => randomBytes(4).toString('hex');
