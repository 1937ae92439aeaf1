import { stallSeconds, type Policy } from '../policy.ts';

/** One running piece as the watchdog sees it. */
export interface Watched {
  /** Milliseconds since its last byte reached the sink; time the sink made it wait does not count. */
  quietMs: number;
  runningMs: number;
  /** Bytes per second over the last seconds. */
  rate: number;
}

export interface Surroundings {
  /** Best rate of the other servers that deliver now; 0 if none does. */
  bestOther: number;
  /** Some server could be asked instead. */
  alternative: boolean;
  size: number;
  missingBytes: number;
  /** Milliseconds left of the time the user will pay, if that is bounded. */
  leftMs: number | undefined;
}

/** `slow`: worth asking another server too; `drop`: another server does its work better; `stalled`: give it up. */
export type Judgement = 'fine' | 'slow' | 'drop' | 'stalled';

/** Before this a rate says more about the connection's start than about the server. */
const rampMs = 5_000;
/** With this share of what another server gives, a slow one still helps. */
const helpfulShare = 1 / 16;
/** An object should not take longer than this unless the user says so. */
const patienceSeconds = 6 * 3600;

/** Judges one running piece. Pure: the clock's readings come in. */
export function judge(watched: Watched, around: Surroundings, policy: Policy): Judgement {
  if (watched.quietMs >= stallSeconds(policy, around.bestOther > 0) * 1000) return 'stalled';
  if (watched.runningMs < Math.min(rampMs, policy.stallSeconds * 1000)) return 'fine';
  if (watched.rate >= speedFloor(around, policy)) return 'fine';
  if (!around.alternative) return 'fine';
  return watched.rate < around.bestOther * helpfulShare ? 'drop' : 'slow';
}

/** Bytes per second below which a server is too slow for this object. */
export function speedFloor(around: Surroundings, policy: Policy): number {
  const size = Number.isFinite(around.size) ? around.size : 0;
  const bySize = size / patienceSeconds;
  const byBudget = around.leftMs === undefined ? 0 : around.missingBytes / Math.max(1, around.leftMs / 1000);
  return Math.max(policy.floorBytesPerSecond, bySize, byBudget, around.bestOther * helpfulShare);
}
