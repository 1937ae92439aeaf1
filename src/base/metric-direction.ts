const lowerIsBetter =
  /(?:loss|err(?:or)?s?|perplexity|ppl|nll|bpb|bpc|mse|mae|rmse|mape|wer|cer|fid|lpips)(?![a-z])/i;

/** A training reports the same few names again and again. */
const known = new Map<string, boolean>();
const maxKnown = 1000;

/** Whether a smaller value is the better one, by the metric's name. */
export function isLowerBetter(name: string): boolean {
  const before = known.get(name);
  if (before !== undefined) return before;
  if (known.size >= maxKnown) known.clear();
  const isLower = lowerIsBetter.test(name);
  known.set(name, isLower);
  return isLower;
}

/** Names of metrics, those first that most likely decide: of the validation, then the test; an accuracy before a loss. */
export const byImportance = (names: readonly string[]): string[] => {
  const rank = (name: string): number =>
    (/^(?:val|eval)/i.test(name) ? 0 : name.startsWith('test') ? 2 : 4) + (isLowerBetter(name) ? 1 : 0);
  return names.toSorted((a, b) => rank(a) - rank(b));
};
