import { anyOf } from './any-of.ts';

/** Names of which a smaller value is better: words anywhere, and short ones that stand alone. */
const long = 'loss|errors?|perplexity|cross_?entropy|divergence|distance|latency|regret';
const short = `
  errs? ppl nll bp[bcd] bits_per_[a-z_0-9]+ mse msle rmse rmsle mae mape smape mase [wcetd]er fid kid kld?
  lpips brier ece epe rmsd fpr[0-9]* fnr frr (?:run)?time duration
`;
const smallerWords = (): RegExp => new RegExp(`(?:${long}|(?:^|[^a-z])(?:${anyOf(short)}))(?![a-z])`, 'i');

/** Metrics of which the job file says which value is better; all others go by their names. */
export interface MetricDirections {
  smallerIsBetter?: readonly string[] | undefined;
  largerIsBetter?: readonly string[] | undefined;
}

/** A training reports the same few names again and again. */
const known = new Map<string, boolean>();
const maxKnown = 1000;

/** Whether a smaller value is the better one: as the job file says, or else by the metric's name. */
export function isLowerBetter(name: string, said: MetricDirections = {}): boolean {
  const { smallerIsBetter = [], largerIsBetter = [] } = said;
  if (smallerIsBetter.some((one) => isMeant(one, name))) return true;
  return !largerIsBetter.some((one) => isMeant(one, name)) && isLowerByName(name);
}

/** `latency` means `val_latency` and `test/latency`, too. */
const isMeant = (said: string, name: string): boolean =>
  name === said || (name.endsWith(said) && /[_./:-]/.test(name.charAt(name.length - said.length - 1)));

function isLowerByName(name: string): boolean {
  const before = known.get(name);
  if (before !== undefined) return before;
  if (known.size >= maxKnown) known.clear();
  // `valMAE` is two words.
  const isLower = smallerWords().test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'));
  known.set(name, isLower);
  return isLower;
}

/** What several runs say. */
export const joinDirections = (all: readonly MetricDirections[]): MetricDirections => ({
  smallerIsBetter: [...new Set(all.flatMap((one) => one.smallerIsBetter ?? []))],
  largerIsBetter: [...new Set(all.flatMap((one) => one.largerIsBetter ?? []))],
});

export const isAccuracy = (name: string): boolean =>
  /(?:^|[ _./-])(?:acc(?:uracy|@?\d+)?|prec@?\d|top-?\d+)$/i.test(name);

/** Names of metrics, the most decisive first: of the validation, the test, the rest; accuracy, then loss. */
export const byImportance = (names: readonly string[], said?: MetricDirections): string[] => {
  const rank = (name: string): number => {
    const pass = /^(?:val|eval)/i.test(name) ? 0 : /^test/i.test(name) ? 10 : 20;
    if (isAccuracy(name)) return pass;
    if (pass < 20 && /(?:^|[ _./-])loss$/i.test(name)) return pass + 1;
    return pass + (isLowerBetter(name, said) ? 3 : 2);
  };
  return names.toSorted((a, b) => rank(a) - rank(b));
};

/** 71.2 → 0.712, not 0.7120000000000001. */
export const hundredth = (value: number): number => Number((value / 100).toPrecision(15));
