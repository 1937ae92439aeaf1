import { adDetails } from './ad-details.ts';
import type { Ad } from './classad.ts';
import { decodeText } from './decode-text.ts';
import type { DetailsByKind } from './details.ts';
import type { Zone } from './events.ts';
import { kindOf, type EventKind } from './kinds.ts';

/** Where and when an event of the JSON or XML form was written. */
export interface AdEventPlace {
  bytes: Buffer;
  start: number;
  end: number;
  offset: number;
  time: number | undefined;
  zone: Zone;
}

/** An event of the JSON or XML form: its attributes are all there, its details are made on demand. */
export class AdEvent {
  readonly number: number;
  readonly cluster: number;
  readonly proc: number;
  readonly subproc: number;
  readonly time: number | undefined;
  readonly zone: Zone;
  readonly timeText: string;
  readonly whole = true;
  readonly offset: number;
  readonly #ad: Ad;
  readonly #place: AdEventPlace;
  #details: DetailsByKind[EventKind] | undefined;

  constructor(ad: Ad, number: number, place: AdEventPlace) {
    this.number = number;
    this.cluster = integerOf(ad.Cluster);
    this.proc = integerOf(ad.Proc);
    this.subproc = integerOf(ad.Subproc);
    this.time = place.time;
    this.zone = place.zone;
    this.timeText = typeof ad.EventTime === 'string' ? ad.EventTime : '';
    this.offset = place.offset;
    this.#ad = ad;
    this.#place = place;
  }

  get kind(): EventKind {
    return kindOf(this.number);
  }

  get text(): string {
    return decodeText(this.#place.bytes, this.#place.start, this.#place.end);
  }

  get details(): DetailsByKind[EventKind] {
    return (this.#details ??= adDetails(this.kind, this.#ad, this.text));
  }
}

/** HTCondor leaves out what an event has not: -1 in the text form. */
function integerOf(value: Ad[string]): number {
  return typeof value === 'number' && Number.isInteger(value) ? value : -1;
}
