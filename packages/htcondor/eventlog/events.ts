import type { DetailsByKind } from './decode.ts';
import type { EventKind } from './kinds.ts';

/** The zone that the log names: UTC, an offset, or none (the access point's local time). */
export type Zone = 'utc' | 'offset' | 'unknown';

/**
 * What all events have. `details` and texts are decoded on first use from the chunk of the log, which the event keeps
 * alive: keep what you need rather than the event itself.
 */
export interface EventOf<K extends EventKind> {
  readonly kind: K;
  /** HTCondor's number, as in 5 for `terminated`. */
  readonly number: number;
  readonly cluster: number;
  /** -1 for an event of a whole cluster. */
  readonly proc: number;
  readonly subproc: number;
  /** Milliseconds since the epoch, or undefined for a date that does not exist. */
  readonly time: number | undefined;
  readonly zone: Zone;
  /** The time as written. */
  readonly timeText: string;
  /** False for an event without its end: the log stops inside it, or another begins. */
  readonly whole: boolean;
  /** Where the event begins in the log, in bytes. */
  readonly offset: number;
  /** The event as written, without its closing line. */
  readonly text: string;
  readonly details: DetailsByKind[K];
  /** One of the details; decodes no other where that can be helped. */
  read<Name extends keyof DetailsByKind[K]>(name: Name): DetailsByKind[K][Name];
}

/** An event of a job's log; `kind` determines its details. */
export type LogEvent = { [K in EventKind]: EventOf<K> }[EventKind];

/** A part of a log that is not an event. */
export interface Garbled {
  /** Where it begins in the log, in bytes. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly text: string;
}
