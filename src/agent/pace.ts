/** With fewer norms than this nobody can say what is normal. */
const fewestNorms = 3;

/** What the first epoch takes elsewhere. */
export interface Norm {
  /** Seconds: the median of what others took. */
  seconds: number;
  attempts: number;
}

/** What the first epoch takes in this run, as far as enough attempts have told. */
export function normOf(seconds: readonly number[]): Norm | undefined {
  if (seconds.length < fewestNorms) return undefined;
  const sorted = [...seconds].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2;
  return { seconds: median, attempts: sorted.length };
}

/** Seconds that a note tells, or undefined when it does not: any job of the user may have written it. */
export function normFromNote(text: string | undefined): number | undefined {
  const seconds = Number(text ?? Number.NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}
