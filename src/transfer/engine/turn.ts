import type { LeftOut } from '../../federation/located.ts';

/** What one server did from its first question, or its last failure, until it failed or the fetch was over. */
export interface Turn {
  bytes: number;
  /** While it was at work. */
  seconds: number;
  firstByteSeconds?: number | undefined;
  /** Seconds that the object had been in the cache; 0 means that the cache was fetching it. */
  age?: number | undefined;
  /** What the server calls itself. */
  version?: string | undefined;
}

/** A server's part in a fetch that succeeded. */
interface Served {
  server: string;
  bytes: number;
  /** Who asked for it to be tried first. */
  preferredBy?: string;
}

/** Who sent what, and who was not asked. */
export interface FetchRecord {
  servers: Served[];
  /** The last turn of each of them. */
  turns?: (Turn & Served)[];
  /** Servers that were not asked, and who wanted it so. */
  leftOut?: LeftOut[];
}
