import type { LeftOut } from '../../federation/located.ts';

/** What one server did from its first request, or its last failure, until it failed or the fetch ended. */
export interface Turn {
  bytes: number;
  /** While it was at work. */
  seconds: number;
  firstByteSeconds?: number | undefined;
  /** Seconds that the object had been in the cache; 0 means that the cache was fetching it. */
  age?: number | undefined;
  /** The server's name and version, as it reports them. */
  version?: string | undefined;
}

/** A server's part in a fetch that succeeded. */
interface Served {
  server: string;
  bytes: number;
  /** Whose preference put it first. */
  preferredBy?: string;
  /** Of a cache that reports its `Age`: bytes it had before it was asked, and bytes it had to fetch itself. */
  warmBytes?: number;
  coldBytes?: number;
}

/** Which servers sent what, and which were not asked. */
export interface FetchRecord {
  servers: Served[];
  /** The last turn of each of them. */
  turns?: (Turn & Served)[];
  /** Servers that were not asked, and whose wish that was. */
  leftOut?: LeftOut[];
}
