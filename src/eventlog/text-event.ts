import { decodeText } from './decode-text.ts';
import type { DetailsByKind } from './details.ts';
import type { Zone } from './events.ts';
import type { Header } from './header.ts';
import { kindOf, type EventKind } from './kinds.ts';
import { textDetails } from './text-details.ts';

/** An event of the text form; decodes on demand. */
export class TextEvent {
  readonly number: number;
  readonly cluster: number;
  readonly proc: number;
  readonly subproc: number;
  readonly time: number | undefined;
  readonly zone: Zone;
  readonly whole: boolean;
  readonly offset: number;
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly #timeAt: number;
  readonly #timeEnd: number;
  #details: DetailsByKind[EventKind] | undefined;

  constructor(bytes: Buffer, start: number, end: number, header: Header, whole: boolean, offset: number) {
    this.number = header.number;
    this.cluster = header.cluster;
    this.proc = header.proc;
    this.subproc = header.subproc;
    this.time = Number.isNaN(header.time) ? undefined : header.time;
    this.zone = header.zone;
    this.whole = whole;
    this.offset = offset;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#timeAt = header.timeAt;
    this.#timeEnd = header.timeEnd;
  }

  get kind(): EventKind {
    return kindOf(this.number);
  }

  get timeText(): string {
    return this.#bytes.toString('latin1', this.#timeAt, this.#timeEnd);
  }

  get text(): string {
    return decodeText(this.#bytes, this.#start, this.#end).trimEnd();
  }

  get details(): DetailsByKind[EventKind] {
    return (this.#details ??= textDetails(this.kind, decodeText(this.#bytes, this.#timeEnd, this.#end)));
  }
}
