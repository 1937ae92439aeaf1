export interface Calibration {
  /** Seconds that an attempt of no length takes on its slot here. */
  cost: () => Promise<number>;
  /** How long an attempt lasts where it was recorded. */
  attemptSeconds: number;
  /** Starting and ending may take this share of it; slower machines replay more slowly. */
  maxOverhead: number;
  scales: { min: number; max: number };
  say: (line: string) => void;
}

/**
 * How much faster than where it was recorded time may pass here. What the machine itself costs is not scaled: without
 * this, a replay on a slower machine would measure the machine. Refuses one that is too slow.
 */
export async function calibratedScale(calibration: Calibration): Promise<number> {
  const { attemptSeconds, maxOverhead, scales, say } = calibration;
  const cost = await calibration.cost();
  const scale = Math.min(scales.max, Math.floor((maxOverhead * attemptSeconds) / cost));
  say(`an attempt of no length takes ${cost.toFixed(2)} s here, so time passes ${scale} times as fast`);
  if (scale >= scales.min) return scale;
  throw new Error(`this machine is too slow, or too busy: time must pass ${scales.min} times as fast`);
}
