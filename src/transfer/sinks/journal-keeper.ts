import fs from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { PartFile } from './part-file.ts';
import { journalPath, writeJournal, type PartJournal } from './part-journal.ts';
import type { Range } from '../engine/segments.ts';

/** A killed process loses so much at most. */
const writeMs = 1_000;
/** A machine that dies loses so much; more often would slow down the disk. */
const flushMs = 10_000;

/** Keeps the journal of a part true while the part grows, and closes the part with it. */
export class JournalKeeper {
  readonly #target: string;
  readonly #file: PartFile;
  readonly #clock: Clock;
  /** What there is now, if it is worth keeping. */
  readonly #current: () => PartJournal | undefined;
  #flushed: Range[];
  #flushing: Promise<void> | undefined;
  #writeAt: number;
  #flushAt: number;

  constructor(
    target: string,
    file: PartFile,
    clock: Clock,
    flushed: Range[],
    current: () => PartJournal | undefined,
  ) {
    this.#target = target;
    this.#file = file;
    this.#clock = clock;
    this.#flushed = flushed;
    this.#current = current;
    this.#writeAt = clock.monotonic() + writeMs;
    this.#flushAt = clock.monotonic() + flushMs;
  }

  /** To be called while bytes arrive; does something now and then. */
  tick(): void {
    const now = this.#clock.monotonic();
    if (now < this.#writeAt) return;
    this.#writeAt = now + writeMs;
    const journal = this.#current();
    if (journal === undefined) return;
    this.#file.checkOurs();
    writeJournal(this.#target, journal, this.#flushed);
    if (now < this.#flushAt || this.#flushing !== undefined) return;
    this.#flushAt = now + flushMs;
    this.#flushing = this.#file
      .flush()
      .then(
        () => void (this.#flushed = journal.done),
        () => undefined,
      )
      .finally(() => (this.#flushing = undefined));
  }

  /** Leaves part and journal for a later attempt, or nothing if there is nothing worth keeping. */
  suspend(): void {
    const journal = this.#current();
    try {
      if (journal !== undefined) {
        writeJournal(this.#target, journal, this.#flushed);
        return;
      }
    } catch {
      // On a full disk the journal may not fit either; without one the part is of no use.
    }
    this.remove();
    this.#file.remove();
  }

  /** The part is whole: no journal is needed any more. */
  remove(): void {
    fs.rmSync(journalPath(this.#target), { force: true });
  }

  /** Closes the part, after a flush that is still under way. */
  close(): void {
    if (this.#flushing === undefined) this.#file.close();
    else void this.#flushing.finally(() => this.#file.close());
  }
}
