import type { Clock } from '../base/clock.ts';
import type { Fault } from '../fault/fault.ts';
import type { Locator } from '../federation/located.ts';
import type { KeptConnections } from '../http/connections.ts';
import type { Manifest } from './proof/manifest.ts';
import type { Policy } from './policy.ts';

/** How far the bytes were proven: by chunk hashes, by a whole-object digest, by their number, or not at all. */
export type Verified = 'manifest' | 'digest' | 'size' | 'none';

export type FetchEvent =
  | { kind: 'progress'; bytes: number; total: number | undefined; rate: number; server: string }
  | { kind: 'setback'; server: string; fault: Fault };

export interface FetchOptions {
  locator: Locator;
  clock?: Clock;
  signal?: AbortSignal;
  tokenFile?: string;
  /** Hex SHA-256 of the whole object, where the user knows it. */
  sha256?: string;
  /** Size the user expects, in bytes. */
  bytes?: number;
  /** Hashes of the object's chunks: damage is found at once and only the damaged chunk is fetched again. */
  manifest?: Manifest;
  policy?: Partial<Policy>;
  /**
   * Hosts whose bytes turned out wrong: they are asked only when nobody else has the object. Fetches add to it, and
   * those that share it learn from each other.
   */
  suspects?: Set<string>;
  /** Connections that fetches leave to each other. */
  connections?: KeptConnections;
  onEvent?: (event: FetchEvent) => void;
  /** Called once a server has a digest that the whole object will be held against. */
  onDigest?: () => void;
}

export interface Fetched {
  bytes: number;
  seconds: number;
  verified: Verified;
  servers: { server: string; bytes: number }[];
}
