/** How long something took, or how long it was observed without an end. */
export interface Lifetime {
  seconds: number;
  isDone: boolean;
}

/** From `seconds` on, this share is done. */
export interface CompletionPoint {
  seconds: number;
  share: number;
}

/** The Kaplan–Meier estimate of the share that is done by a time: those without an end count until they were last seen. */
export function completionCurve(lifetimes: readonly Lifetime[]): CompletionPoint[] {
  const sorted = lifetimes.toSorted((a, b) => a.seconds - b.seconds);
  const points: CompletionPoint[] = [];
  let left = 1;
  for (let at = 0; at < sorted.length;) {
    const seconds = sorted[at]?.seconds ?? 0;
    const atRisk = sorted.length - at;
    let ended = 0;
    for (; sorted[at]?.seconds === seconds; at++) if (sorted[at]?.isDone === true) ended += 1;
    left *= 1 - ended / atRisk;
    if (ended > 0) points.push({ seconds, share: 1 - left });
  }
  return points;
}
