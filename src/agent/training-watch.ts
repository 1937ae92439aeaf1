import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { attemptFiles } from '../job/layout.ts';
import type { Attempt } from './attempt.ts';
import { LogTail } from './log-tail.ts';
import type { Note } from './notes.ts';
import { attemptProcesses, memoryOf } from './processes.ts';
import { mergeProgress, progressOfLine, progressOfRecord, type Progress } from './progress.ts';
import type { Scratch } from './scratch.ts';

const heartbeatEveryMs = 10_000;
const progressEveryMs = 1000;

/** Looks at a running training from outside: what it prints, what it tells of its progress, what it takes. */
export class TrainingWatch {
  readonly #logs: LogTail[];
  readonly #records: LogTail;
  readonly #scratch: Scratch;
  readonly #session: number;
  readonly #clock: Clock;
  readonly #note: Note;
  #news: Progress = {};
  #toldAt = -Infinity;
  #beatAt: number;
  #aliveAt: number;

  constructor({ order, scratch, world, note }: Attempt, session: number) {
    this.#logs = [attemptFiles.out, attemptFiles.err].map(
      (name) => new LogTail(path.join(order.attemptFolder, name)),
    );
    this.#records = new LogTail(scratch.progress);
    this.#scratch = scratch;
    this.#session = session;
    this.#clock = world.clock;
    this.#note = note;
    this.#beatAt = this.#clock.monotonic();
    this.#aliveAt = this.#beatAt;
  }

  /** Seconds since the last sign of life. */
  get quietSeconds(): number {
    return (this.#clock.monotonic() - this.#aliveAt) / 1000;
  }

  look(): void {
    for (const log of this.#logs) this.#take(log, progressOfLine);
    this.#take(this.#records, progressOfRecord);
    const now = this.#clock.monotonic();
    if (now - this.#toldAt >= progressEveryMs) this.#tell();
    if (now - this.#beatAt < heartbeatEveryMs) return;
    this.#beatAt = now;
    const memoryBytes = memoryOf(attemptProcesses(this.#scratch.root, this.#session));
    this.#note({ kind: 'heartbeat', memoryBytes, quietSeconds: Math.round(this.quietSeconds) });
  }

  /** The training has ended: its last lines, also one without a line end. */
  finish(): void {
    for (const log of this.#logs) {
      this.#take(log, progressOfLine);
      this.#add([progressOfLine(log.rest())]);
    }
    this.#take(this.#records, progressOfRecord);
    this.#add([progressOfRecord(this.#records.rest())]);
    this.#tell();
  }

  #take(tail: LogTail, parse: (line: string) => Progress): void {
    const { lines, grown } = tail.read();
    if (grown) this.#aliveAt = this.#clock.monotonic();
    this.#add(lines.map(parse));
  }

  #add(parts: Progress[]): void {
    this.#news = mergeProgress([this.#news, ...parts]);
  }

  #tell(): void {
    if (Object.keys(this.#news).length === 0) return;
    this.#note({ kind: 'progress', ...this.#news });
    this.#news = {};
    this.#toldAt = this.#clock.monotonic();
  }
}
