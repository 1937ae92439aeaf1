const lowerIsBetter =
  /(?:loss|err(?:or)?s?|perplexity|ppl|nll|bpb|bpc|mse|mae|rmse|mape|wer|cer|fid|lpips)(?![a-z])/i;

/** Whether a smaller value is the better one, by the metric's name. */
export const isLowerBetter = (name: string): boolean => lowerIsBetter.test(name);
