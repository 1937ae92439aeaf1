import type { LogEvent } from './events.ts';
import { logFile } from './log-sources.ts';
import { type Dating, openLog, scanLog, type ReadOptions } from './scan-log.ts';

/** The events of a log, in order, in constant memory. Dates without a year are placed before the file's own date. */
export const readEventLog = (path: string, options: ReadOptions = {}): AsyncIterableIterator<LogEvent> =>
  new BatchIterator(eventBatches(path, options));

async function* eventBatches(path: string, options: ReadOptions): AsyncGenerator<LogEvent[], void, void> {
  let events: LogEvent[] = [];
  const log = await openLog(await logFile(path), (event) => events.push(event), options);
  try {
    for (let more = true; more;) {
      more = await log.next();
      yield events;
      events = [];
    }
  } finally {
    await log.close();
  }
}

/** Calls `onEvent` for each event of a log's file, in order. Returns what is known about its year. */
export const scanEventLog = async (
  path: string,
  onEvent: (event: LogEvent) => void,
  options: ReadOptions = {},
): Promise<Dating> => scanLog(await logFile(path), onEvent, options);

/**
 * Iterates over the items of batches. A generator would take several turns of the event loop for each item, a third of
 * the time to read a log.
 */
export class BatchIterator<Item extends object> implements AsyncIterableIterator<Item> {
  readonly #batches: AsyncGenerator<Item[], void, void>;
  #batch: Item[] = [];
  #at = 0;
  #isOver = false;
  #refilling: Promise<void> | undefined;

  constructor(batches: AsyncGenerator<Item[], void, void>) {
    this.#batches = batches;
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    const item = this.#batch[this.#at];
    if (item !== undefined) {
      this.#at += 1;
      return Promise.resolve({ done: false, value: item });
    }
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    this.#refilling ??= this.#refill();
    return this.#refilling.then(() => this.next());
  }

  async #refill(): Promise<void> {
    try {
      const { done, value } = await this.#batches.next();
      if (this.#isOver) return;
      this.#batch = value ?? [];
      this.#at = 0;
      this.#isOver = done === true;
    } catch (error) {
      this.#isOver = true;
      throw error;
    } finally {
      this.#refilling = undefined;
    }
  }

  /** Stopping early releases what the source holds, such as an open file. */
  async return(): Promise<IteratorResult<Item, undefined>> {
    this.#isOver = true;
    this.#batch = [];
    await this.#batches.return();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
