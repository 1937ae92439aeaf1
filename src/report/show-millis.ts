const steps = [
  { unit: 'd', millis: 86_400_000 },
  { unit: 'h', millis: 3_600_000 },
  { unit: 'm', millis: 60_000 },
  { unit: 's', millis: 1000 },
] as const;

/** `3h05m`, `2m35s`, `4.2s`: the two greatest units, or tenths of seconds below ten. */
export function showMillis(millis: number): string {
  if (millis < 9950) return `${(millis / 1000).toFixed(1)}s`;
  const rounded = Math.round(millis / 1000) * 1000;
  const first = steps.findIndex((step) => rounded >= step.millis);
  const [big, small] = [steps[first], steps[first + 1]];
  if (big === undefined) return '0s';
  const text = `${Math.floor(rounded / big.millis)}${big.unit}`;
  if (small === undefined) return text;
  const rest = Math.floor((rounded % big.millis) / small.millis);
  return `${text}${String(rest).padStart(2, '0')}${small.unit}`;
}
