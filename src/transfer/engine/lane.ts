import type { Source } from './roster.ts';
import type { Piece } from './segments.ts';

/** One server at work on one piece. */
export interface Lane {
  readonly piece: Piece;
  readonly source: Source;
  readonly controller: AbortController;
  readonly startedAt: number;
  /** When its last byte reached the sink, or the sink was ready for more. */
  movedAt: number;
  /** The sink is not done with the last bytes: the server cannot be blamed for the silence. */
  waitsForSink: boolean;
}
