import { formatSize } from '@updraft/base';

const steps = [
  { unit: 'd', millis: 86_400_000 },
  { unit: 'h', millis: 3_600_000 },
  { unit: 'm', millis: 60_000 },
  { unit: 's', millis: 1000 },
] as const;

/** `3h05m`, `2m35s`, `4.2s`: the two largest units, or tenths of a second below ten. */
export function formatMillis(millis: number): string {
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

export const formatSeconds = (seconds: number | null): string =>
  seconds === null ? '-' : formatMillis(seconds * 1000);
export const formatHours = (seconds: number): string =>
  seconds < 3600 ? formatSeconds(seconds) : `${(seconds / 3600).toFixed(1)} h`;
export const formatShare = (share: number | null): string =>
  share === null ? '-' : `${(share * 100).toFixed(1)} %`;

const sizeUnits = ['KB', 'MB', 'GB', 'TB'];

/** An amount of a resource; sizes as in submit files, where 1 GB is 1024 MB. */
export function formatAmount(value: number, unit: string | null): string {
  let at = sizeUnits.indexOf(unit ?? '');
  if (at === -1) return `${Number(value.toFixed(2))}${unit === null ? '' : ` ${unit}`}`;
  for (; value >= 1024 && at < sizeUnits.length - 1; at++) value /= 1024;
  return `${Number(value.toFixed(1))} ${sizeUnits[at] ?? ''}`;
}

export const formatBytesPerSecond = (bytesPerSecond: number | null): string =>
  bytesPerSecond === null ? '-' : `${formatSize(bytesPerSecond)}/s`;
/** Three digits are enough to compare. */
export const formatPerSecond = (rate: number | null): string =>
  rate === null ? '-' : String(Number(rate.toPrecision(3)));
