import type { Env } from '@updraft/base';

/** The time and retry limits of a transfer. */
export interface TransferLimits {
  connectSeconds: number;
  /** Until the head of the answer. */
  headSeconds: number;
  /** A server has stalled after this long without a byte; sooner while another one delivers. */
  stallSeconds: number;
  /** A server below this rate is too slow for any object; big objects raise it. */
  floorBytesPerSecond: number;
  /** Servers used at once for one object. */
  maxServers: number;
  /** After this long without a byte from any server the origin is asked, whatever caches there are. */
  originSeconds: number;
  /** Give up after this long without a byte from any server. */
  quietSeconds: number;
  /** Give up when every server has failed this often since the last progress. */
  maxPasses: number;
  /** The same while no server could be reached at all: connections are refused, or names are unknown. */
  maxUnreachedPasses: number;
  /**
   * How long to wait, after the last byte, for a new token when the current one has expired. A token that had expired
   * before the first byte ends the fetch at once.
   */
  renewSeconds: number;
  /** The longest wait, after the last byte, for a digest that a server is still computing. */
  digestSeconds: number;
  /** Bytes that may arrive out of order when they are needed in order. */
  windowBytes: number;
}

export const defaultTransferLimits: TransferLimits = {
  connectSeconds: 10,
  headSeconds: 10,
  stallSeconds: 20,
  floorBytesPerSecond: 100 * 1024,
  maxServers: 3,
  originSeconds: 10,
  quietSeconds: 600,
  maxPasses: 6,
  maxUnreachedPasses: 6,
  renewSeconds: 600,
  digestSeconds: 60,
  windowBytes: 64 << 20,
};

/** Once all bytes are here: a server that computes a digest must read the object, at 50 MB/s or faster. */
export const digestWaitMs = (size: number, { digestSeconds }: TransferLimits): number =>
  Math.min(digestSeconds * 1000, 2_000 + size / 50_000);

/** The effective limit: while another server delivers, a silent one is given up after a quarter of it. */
export const stallSeconds = (limits: TransferLimits, anotherDelivers: boolean): number =>
  anotherDelivers ? limits.stallSeconds / 4 : limits.stallSeconds;

/** The environment's limits: `UPDRAFT_STALL_SECONDS`, for every program that fetches. */
export function limitsFromEnv(env: Env): Partial<TransferLimits> {
  const seconds = Number(env['UPDRAFT_STALL_SECONDS']);
  return seconds > 0 ? { stallSeconds: seconds } : {};
}
