import { type DetailsByKind, decodeDetails, fieldDecoder } from './decode.ts';
import type { Garbled, LogEvent, Zone } from './events.ts';
import { Framer, type Header, HeaderReader } from './framer.ts';
import { type EventKind, kindOf } from './kinds.ts';
import { decodeText, latin1Text } from './log-text.ts';
import { type StampOptions, StampReader } from './stamp.ts';
import { TextBody } from './text-body.ts';

export interface ParserOptions extends StampOptions {
  onEvent: (event: LogEvent) => void;
  /** Called for each part that is not an event, in order with the events. */
  onGarbled?: ((part: Garbled) => void) | undefined;
  /** Whether nobody keeps an event: then one object is all of them in turn. */
  isPassing?: boolean | undefined;
}

/** Reads a log in pieces; reports each event as soon as it is complete. */
export interface Parser {
  /**
   * Takes the next piece, which must not be changed afterwards. Its first `headroom` bytes are not part of the log: the
   * rest of the last piece is copied there, instead of copying the whole piece.
   */
  feed(piece: Uint8Array, headroom?: number): void;
  /** The log ends here: the rest is an incomplete event, or garbled. */
  end(): void;
}

/** A parser for one log. Nothing in a log makes it throw. */
export function createParser(options: ParserOptions): Parser {
  const stamps = new StampReader(options);
  const { onEvent, onGarbled, isPassing = false } = options;
  let event = new ParsedEvent();
  return new Framer(new HeaderReader(stamps), {
    text: (bytes, start, end, header, whole, offset) => {
      if (!isPassing) event = new ParsedEvent();
      event.set(bytes, start, end, header, whole, offset);
      onEvent(event as LogEvent);
    },
    garbled: (bytes, offset) => {
      onGarbled?.({
        offset,
        bytes,
        get text() {
          return decodeText(bytes, 0, bytes.length);
        },
      });
    },
  });
}

const noBytes = new Uint8Array();

/** An event, decoded on demand. */
class ParsedEvent {
  kind: EventKind = 'other';
  number = 0;
  cluster = 0;
  proc = 0;
  subproc = 0;
  zone: Zone = 'unknown';
  whole = true;
  offset = 0;
  #time = NaN;
  #bytes: Uint8Array = noBytes;
  #start = 0;
  #end = 0;
  #timeAt = 0;
  #timeEnd = 0;
  #body: TextBody | undefined;
  #details: DetailsByKind[EventKind] | undefined;

  set(bytes: Uint8Array, start: number, end: number, header: Header, whole: boolean, offset: number): void {
    this.kind = kindOf(header.number);
    this.number = header.number;
    this.cluster = header.cluster;
    this.proc = header.proc;
    this.subproc = header.subproc;
    this.#time = header.time;
    this.zone = header.zone;
    this.whole = whole;
    this.offset = offset;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#timeAt = header.timeAt;
    this.#timeEnd = header.timeEnd;
    this.#body = undefined;
    this.#details = undefined;
  }

  get time(): number | undefined {
    return Number.isNaN(this.#time) ? undefined : this.#time;
  }

  get timeText(): string {
    return latin1Text(this.#bytes, this.#timeAt, this.#timeEnd);
  }

  get text(): string {
    return decodeText(this.#bytes, this.#start, this.#end).trimEnd();
  }

  get details(): DetailsByKind[EventKind] {
    return (this.#details ??= decodeDetails(this.kind, this.#textBody()));
  }

  read(name: string): unknown {
    const field = this.#details === undefined ? fieldDecoder(this.kind, name) : undefined;
    return field === undefined ? (this.details as Record<string, unknown>)[name] : field(this.#textBody());
  }

  #textBody(): TextBody {
    return (this.#body ??= new TextBody(this.#bytes, this.#timeEnd, this.#end));
  }
}
