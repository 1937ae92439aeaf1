import { type Clock, systemClock } from '@updraft/base';
import { messageWithoutSecrets } from '@updraft/base/secrets';
import { Fault } from '../fault.ts';
import type { Locator } from '../federation/located.ts';
import type { IdleConnections } from '../http/connections.ts';
import type { Identity } from './engine/check-response.ts';
import type { FetchRecord, Turn } from './engine/turn.ts';
import { defaultTransferLimits, type TransferLimits } from './limits.ts';
import type { Manifest } from './proof/manifest.ts';

/** How the bytes were verified: by chunk hashes, by a digest of the whole object, by their number, or not at all. */
export type Verification = 'manifest' | 'digest' | 'size' | 'none';

export type FetchEvent =
  | { kind: 'progress'; bytes: number; total: number | undefined; rate: number; server: string }
  | { kind: 'setback'; server: string; fault: Fault; turn?: Turn }
  /** No server can be asked before `until` (milliseconds since the epoch), because of this fault. */
  | { kind: 'wait'; server: string; until: number; fault: Fault };

export interface FetchOptions {
  locator: Locator;
  clock?: Clock;
  signal?: AbortSignal;
  tokenFile?: string;
  /** Hex SHA-256 of the whole object, if the user knows it. */
  sha256?: string;
  /** Size the user expects, in bytes. */
  bytes?: number;
  /** Hashes of the object's chunks: damage is found at once, and only the damaged chunk is fetched again. */
  manifest?: Manifest;
  limits?: Partial<TransferLimits>;
  /**
   * Hosts that sent wrong bytes: they are asked only when no other server has the object. Fetches add to it, so that
   * those that share it learn from each other.
   */
  suspects?: Set<string>;
  /** Idle connections that fetches share. */
  connections?: IdleConnections;
  onEvent?: (event: FetchEvent) => void;
  /** Called once a server has a digest that the whole object will be compared with. */
  onDigest?: () => void;
  /** Called when a stream ends, well or not, with the servers that sent its bytes. */
  onSenders?: (servers: string[]) => void;
}

export interface Fetched extends FetchRecord {
  bytes: number;
  seconds: number;
  verified: Verification;
  /** Of bytes that no digest verified: which facts no server gave. */
  missing?: string[];
  /** The digest that the bytes were compared with; `server` is empty if the user gave it. */
  digest?: { algorithm: string; hex: string; server: string };
}

/** A fetch's options with every default filled in. */
export interface Settings {
  /** The URL without secrets, for messages and records. */
  shownUrl: string;
  locator: Locator;
  clock: Clock;
  signal: AbortSignal;
  tokenFile: string | undefined;
  manifest: Manifest | undefined;
  sha256: string | undefined;
  /** The size according to the user or the manifest. */
  size: number | undefined;
  limits: TransferLimits;
  suspects: Set<string>;
  connections: IdleConnections | undefined;
  onEvent: (event: FetchEvent) => void;
  onDigest: () => void;
}

/** Fills in defaults and refuses options that contradict each other. */
export function resolveSettings(url: string, options: FetchOptions): Settings {
  const { manifest, bytes } = options;
  const shownUrl = messageWithoutSecrets(url);
  const invalid = (what: string) => new Fault('file-invalid', `${shownUrl}: ${what}`);
  const sha256 = options.sha256?.toLowerCase();
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256))
    throw invalid(`a SHA-256 is 64 hex digits, not ${JSON.stringify(options.sha256)}`);
  if (manifest !== undefined && bytes !== undefined && manifest.bytes !== bytes)
    throw invalid(`${bytes} bytes are expected, the manifest says ${manifest.bytes}`);
  if (manifest !== undefined && sha256 !== undefined && manifest.sha256 !== sha256)
    throw invalid("the expected SHA-256 is not the manifest's");
  return {
    shownUrl,
    locator: options.locator,
    clock: options.clock ?? systemClock,
    signal: options.signal ?? new AbortController().signal,
    tokenFile: options.tokenFile,
    manifest,
    sha256,
    size: manifest?.bytes ?? bytes,
    limits: { ...defaultTransferLimits, ...options.limits },
    suspects: options.suspects ?? new Set(),
    connections: options.connections,
    onEvent: options.onEvent ?? (() => undefined),
    onDigest: options.onDigest ?? (() => undefined),
  };
}

/** What nobody said about bytes that no digest verified. */
export function missingFacts(verified: Verification, said: Partial<Identity>): Pick<Fetched, 'missing'> {
  if (verified === 'manifest' || verified === 'digest') return {};
  const facts = { digest: undefined, 'strong ETag': said.etag, 'modification time': said.modified };
  return { missing: Object.entries(facts).flatMap(([name, value]) => (value === undefined ? [name] : [])) };
}

/** The error of a fetch that the user stopped, or the one it was given. */
export function toStopFault({ shownUrl, signal }: Settings, error: unknown): unknown {
  if (!signal.aborted || signal.reason instanceof Fault) return error;
  return new Fault('interrupted', `${shownUrl}: stopped`, { about: shownUrl, cause: signal.reason });
}
