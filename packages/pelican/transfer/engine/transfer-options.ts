import type { ConnectionPool } from '../../http/connections.ts';
import type { Settings } from '../fetch.ts';
import type { ExpectedDigest } from '../proof/digest.ts';
import type { EarlierPart } from '../sinks/part-journal.ts';
import type { Sink } from '../sinks/sink.ts';
import type { Source } from './roster.ts';

export interface TransferOptions extends Omit<Settings, 'manifest' | 'onDigest'> {
  url: string;
  sink: Sink;
  /** Chunk hashes verify the bytes, so that versions cannot be mixed unnoticed and ETags need not agree. */
  proven: boolean;
  earlier: EarlierPart | undefined;
  digest: ExpectedDigest;
  /** Called for the first good answer, before its first byte is used. */
  onFound: (source: Source, pool: ConnectionPool) => void | Promise<void>;
}
