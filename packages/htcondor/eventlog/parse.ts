import { type Ad, Expression, setAttribute, type AdValue } from '../classad/ad.ts';
import { adDetails, type Decoder, type DetailsByKind, fieldDecoder, textDetails } from './decode.ts';
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

/** A parser for one log in text, JSON, or a mixture. Nothing in a log makes it throw. */
export function createParser(options: ParserOptions): Parser {
  const stamps = new StampReader(options);
  const { onEvent, onGarbled, isPassing = false } = options;
  let event = new TextEvent();
  return new Framer(new HeaderReader(stamps), {
    text: (bytes, start, end, header, whole, offset) => {
      if (!isPassing) event = new TextEvent();
      event.set(bytes, start, end, header, whole, offset);
      onEvent(event as LogEvent);
    },
    ad: (bytes, start, end, offset) => {
      const ad = parseJsonAd(decodeText(bytes, start, end));
      const number = ad?.EventTypeNumber;
      if (ad === undefined || typeof number !== 'number') return false;
      const header = headerOf(ad, number, stamps);
      const found = new AdEvent(ad);
      found.set(bytes, start, end, header, true, offset);
      onEvent(found as LogEvent);
      return true;
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

/** The same as the first line of an event in text form. */
function headerOf(ad: Ad, number: number, stamps: StampReader): Header {
  const text = ad.EventTime;
  const isTimed = typeof text === 'string' && stamps.read(new TextEncoder().encode(text), 0) !== -1;
  return {
    number,
    cluster: integerOf(ad.Cluster),
    proc: integerOf(ad.Proc),
    subproc: integerOf(ad.Subproc),
    time: isTimed ? stamps.time : NaN,
    zone: isTimed ? stamps.zone : 'unknown',
    timeAt: 0,
    timeEnd: 0,
  };
}

const noBytes = new Uint8Array();

/** An event in text form, decoded on demand. */
class TextEvent {
  kind: EventKind = 'unknown';
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
    return (this.#details ??= this.decode());
  }

  read(name: string): unknown {
    const field = this.#details === undefined ? fieldDecoder(this.kind, name) : undefined;
    return field === undefined ? (this.details as Record<string, unknown>)[name] : this.decodeField(field);
  }

  protected decode(): DetailsByKind[EventKind] {
    return textDetails(this.kind, this.#textBody());
  }

  protected decodeField(field: Decoder<unknown>): unknown {
    return field.text(this.#textBody());
  }

  #textBody(): TextBody {
    return (this.#body ??= new TextBody(this.#bytes, this.#timeEnd, this.#end));
  }
}

/** An event in JSON, already parsed; its details are made on demand. */
class AdEvent extends TextEvent {
  readonly #ad: Ad;

  constructor(ad: Ad) {
    super();
    this.#ad = ad;
  }

  override get timeText(): string {
    return typeof this.#ad.EventTime === 'string' ? this.#ad.EventTime : '';
  }

  protected override decode(): DetailsByKind[EventKind] {
    return adDetails(this.kind, this.#ad, this.text);
  }

  protected override decodeField(field: Decoder<unknown>): unknown {
    return field.ad(this.#ad, this.text);
  }
}

/** A missing number is -1, as in the text form. */
const integerOf = (value: Ad[string]): number =>
  typeof value === 'number' && Number.isInteger(value) ? value : -1;

/** The attributes of an event in JSON; undefined if it is invalid. */
function parseJsonAd(text: string): Ad | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? adFromJson(value)
      : undefined;
  } catch {
    return undefined;
  }
}

function adFromJson(value: object): Ad {
  const ad: Ad = {};
  for (const [name, item] of Object.entries(value)) setAttribute(ad, name, valueFromJson(item));
  return ad;
}

function valueFromJson(value: unknown): AdValue {
  if (typeof value === 'string') {
    // HTCondor writes expressions as strings of this form.
    const expression = /^\\?\/Expr\((.*)\)\\?\/$/s.exec(value)?.[1];
    return expression === undefined ? value : new Expression(expression.trim());
  }
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(valueFromJson);
  return typeof value === 'object' && value !== null ? adFromJson(value) : undefined;
}
