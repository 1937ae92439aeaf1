import type { Evidence } from './history.ts';
import { logTime, type LogFacts } from './log-facts.ts';

/** A log whose events are evidence. */
export interface QuotedLog {
  /** Its name in evidence. */
  file: string;
  clock: LogFacts;
}

const noLines: string[] = [];

/** Evidence without its lines. */
export class EventPlace implements Evidence {
  readonly file: string;
  readonly offset: number;
  readonly #time: number;
  readonly #clock: LogFacts;

  constructor({ file, clock }: QuotedLog, offset: number, time: number) {
    this.file = file;
    this.offset = offset;
    this.#time = time;
    this.#clock = clock;
  }

  get at(): string {
    return logTime(this.#time, this.#clock);
  }

  get lines(): string[] {
    return noLines;
  }
}
