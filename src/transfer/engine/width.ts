/** Smaller rests come from one server. */
const bigBytes = 32 << 20;
const worthwhileSeconds = 1;
const flowingBytes = 1 << 20;
const flowingMs = 100;
const pieceSeconds = 4;
const smallestPiece = 8 << 20;
const largestPiece = 512 << 20;

export interface Flow {
  /** Seconds the first server has had the object, if it says so; 0 means that it is being fetched now. */
  age: number | undefined;
  /** What it has sent so far, and in what time. */
  flow: { bytes: number; ms: number };
  missing: number;
  rate: number;
}

/**
 * May other servers be asked too? Only for big objects, and not while the first cache is still filling: every
 * further cache would then ask the origin for the same bytes.
 */
export function mayWiden({ age, flow, missing, rate }: Flow): boolean {
  if (missing < bigBytes || age === 0) return false;
  if (flow.bytes === 0) return age !== undefined;
  if (age === undefined && (flow.bytes < flowingBytes || flow.ms < flowingMs)) return false;
  return missing / Math.max(1, rate) >= worthwhileSeconds;
}

/** How much one request asks for: a few seconds' worth, so that requests cost little and servers can be left. */
export function pieceBytes(rate: number): number {
  return Math.min(largestPiece, Math.max(smallestPiece, rate * pieceSeconds));
}
