const lowerIsBetter =
  /(?:loss|err(?:or)?s?|perplexity|ppl|nll|bpb|bpc|mse|mae|rmse|mape|wer|cer|fid|lpips)(?![a-z])/i;

/** Whether a smaller value is the better one, by the metric's name. */
export const isLowerBetter = (name: string): boolean => lowerIsBetter.test(name);

/** Names of metrics, those first that most likely decide: of the validation, then the accuracy. */
export const byImportance = (names: readonly string[]): string[] => {
  const rank = (name: string): number =>
    (/^(?:val|test|eval)/i.test(name) ? 0 : 2) + (isLowerBetter(name) ? 1 : 0);
  return names.toSorted((a, b) => rank(a) - rank(b));
};
