import type { Env } from '../base/env.ts';

/** How patient a transfer is. */
export interface TransferLimits {
  connectSeconds: number;
  /** Until the head of an answer. */
  headSeconds: number;
  /** Without a byte for this long a server has stalled; sooner while another one delivers. */
  stallSeconds: number;
  /** A server below this is too slow whatever the object; big objects and budgets raise it. */
  floorBytesPerSecond: number;
  /** Servers used at once for one object. */
  maxServers: number;
  /** The whole fetch must end within this time, if it is set. */
  budgetSeconds: number | undefined;
  /** Without a byte from anybody for this long the origin is looked for, whatever caches there are. */
  originSeconds: number;
  /** Give up when no byte came from anywhere for this long. */
  quietSeconds: number;
  /** Give up when every server has failed this often since the last progress. */
  maxPasses: number;
  /** The same while no server could ever be asked: nobody listens there, or its name is unknown. */
  maxUnreachedPasses: number;
  /**
   * How long to wait, after the last byte, for a new token in the place of one that has expired. One that had expired
   * before the first byte ends the fetch at once.
   */
  renewSeconds: number;
  /** How long to wait, after the last byte, for a digest that a server is still computing. */
  digestSeconds: number;
  /** Bytes that may arrive ahead of their turn when they are needed in order. */
  windowBytes: number;
}

export const defaultTransferLimits: TransferLimits = {
  connectSeconds: 10,
  headSeconds: 10,
  stallSeconds: 20,
  floorBytesPerSecond: 100 * 1024,
  maxServers: 3,
  budgetSeconds: undefined,
  originSeconds: 15,
  quietSeconds: 600,
  maxPasses: 6,
  maxUnreachedPasses: 6,
  renewSeconds: 600,
  digestSeconds: 60,
  windowBytes: 64 << 20,
};

/** The limit that counts: while another server delivers, a silent one is left after a quarter of it. */
export const stallSeconds = (limits: TransferLimits, anotherDelivers: boolean): number =>
  anotherDelivers ? limits.stallSeconds / 4 : limits.stallSeconds;

/** What the user's environment says: `UPDRAFT_STALL_SECONDS`, for every program that fetches. */
export function limitsFromEnv(env: Env): Partial<TransferLimits> {
  const seconds = Number(env['UPDRAFT_STALL_SECONDS']);
  return seconds > 0 ? { stallSeconds: seconds } : {};
}
