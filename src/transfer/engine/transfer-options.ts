import type { Clock } from '../../base/clock.ts';
import type { Locator } from '../../federation/located.ts';
import type { ConnectionPool, IdleConnections } from '../../http/connections.ts';
import type { FetchEvent } from '../fetch.ts';
import type { TransferLimits } from '../limits.ts';
import type { EarlierPart } from '../sinks/part-journal.ts';
import type { Sink } from '../sinks/sink.ts';
import type { Source } from './roster.ts';

export interface TransferOptions {
  url: string;
  /** The URL without secrets. */
  shownUrl: string;
  locator: Locator;
  tokenFile: string | undefined;
  clock: Clock;
  limits: TransferLimits;
  signal: AbortSignal;
  suspects: Set<string>;
  connections: IdleConnections | undefined;
  sink: Sink;
  /** The size according to the user or a manifest. */
  size: number | undefined;
  /** Chunk hashes verify the bytes, so that versions cannot be mixed unnoticed and ETags need not agree. */
  proven: boolean;
  earlier: EarlierPart | undefined;
  onEvent: (event: FetchEvent) => void;
  /** Called for the first good answer, before its first byte is used. */
  onFound: (source: Source, pool: ConnectionPool) => void | Promise<void>;
}
