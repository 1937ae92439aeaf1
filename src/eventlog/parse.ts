import { AdEvent } from './ad-event.ts';
import type { Ad } from './classad.ts';
import { decodeText } from './decode-text.ts';
import type { Garbled, LogEvent } from './events.ts';
import { Framer } from './framer.ts';
import { HeaderReader } from './header.ts';
import { momentWithin } from './moment-within.ts';
import { parseJsonAd, parseXmlAd } from './parse-ad.ts';
import { StampReader, type StampOptions } from './stamp.ts';
import { TextEvent } from './text-event.ts';

export interface ParserOptions extends StampOptions {
  onEvent: (event: LogEvent) => void;
  /** Gets every part that is no event, in its place among the events. */
  onGarbled?: ((part: Garbled) => void) | undefined;
}

/** Reads a log fed in pieces. Its events come as soon as they are whole. */
export interface Parser {
  /**
   * Takes the next piece, which must not be changed afterwards. Its first `headroom` bytes are no part of the log:
   * what is left of the last piece is put there, which spares copying the whole piece.
   */
  feed(piece: Uint8Array, headroom?: number): void;
  /** The log ends here: what is left is an event without its end, or garbled. */
  end(): void;
}

/** A parser for one log in any of HTCondor's forms: text, JSON, XML, or a mixture. Nothing in a log makes it throw. */
export function createParser(options: ParserOptions): Parser {
  const stamps = new StampReader(options);
  const { onEvent, onGarbled } = options;
  return new Framer(new HeaderReader(stamps), {
    text: (bytes, start, end, header, whole, offset) => {
      onEvent(new TextEvent(bytes, start, end, header, whole, offset) as LogEvent);
    },
    ad: (form, bytes, start, end, offset) => {
      const text = decodeText(bytes, start, end);
      const ad = form === 'json' ? parseJsonAd(text) : parseXmlAd(text);
      const number = ad?.EventTypeNumber;
      if (ad === undefined || typeof number !== 'number') return false;
      onEvent(new AdEvent(ad, number, { bytes, start, end, offset, ...stampOf(ad, stamps) }) as LogEvent);
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

function stampOf(ad: Ad, stamps: StampReader): Pick<LogEvent, 'time' | 'zone'> {
  const text = ad.EventTime;
  if (typeof text !== 'string' || stamps.read(Buffer.from(text, 'latin1'), 0) === -1)
    return { time: undefined, zone: 'unknown' };
  return { time: Number.isNaN(stamps.time) ? undefined : stamps.time, zone: stamps.zone };
}

const beginningSize = 1024 * 1024;

/** All events of a log that is in memory, and the parts of it that are none. */
export function parseEventLog(
  log: Uint8Array,
  options: StampOptions,
): { events: LogEvent[]; garbled: Garbled[] } {
  const events: LogEvent[] = [];
  const garbled: Garbled[] = [];
  const parser = createParser({
    within: momentWithin(log.subarray(0, beginningSize)),
    ...options,
    onEvent: (event) => events.push(event),
    onGarbled: (part) => garbled.push(part),
  });
  parser.feed(log);
  parser.end();
  return { events, garbled };
}
