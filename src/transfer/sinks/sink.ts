import type { Range } from '../engine/segments.ts';

/** Where the bytes go. */
export interface Sink {
  /** Pieces may only begin before this offset. */
  readonly before: number;
  /** No piece is longer than this, unless one server sends all. */
  readonly largestPiece: number;
  /** Pieces begin and end at multiples of this. */
  readonly grain: number;
  /** The size is known: throws a Fault if there is no room for it. Called again after a restart. */
  begin(size: number | undefined): void | Promise<void>;
  /** Takes bytes; `chunk` is the caller's again when this returns or resolves. A throw ends the transfer. */
  write(offset: number, chunk: Buffer, server: string): void | Promise<void>;
  /**
   * The server withdraws bytes it sent: `kept` if they prove themselves, `dropped` if they can be fetched again,
   * `gone` if they were already handed on.
   */
  discard(): 'kept' | 'dropped' | 'gone';
  /** Forgets all bytes: true if a new start is possible. */
  restart(): boolean;
}

/** A range whose bytes are proven wrong, and who sent them. */
export type BadRange = (range: Range, servers: ReadonlySet<string>) => void;
