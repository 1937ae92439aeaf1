import { withHeadroom } from './headroom.ts';

const sizeUnits = (): Record<string, number> => ({
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  PB: 1e15,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  PiB: 2 ** 50,
});
const secondsIn: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

export const sizePattern = String.raw`^\s*\d+(\.\d+)?\s*([kKmMgGtTpP][iI]?)?[bB]\s*$`;
export const durationPattern = String.raw`^\s*(\d+(\.\d+)?\s*[smhdw]\s*)+$`;

/** Bytes of `16 GB`, `512MB` or `1.5 TiB` (GB is 10^9, GiB is 2^30); undefined when it is not a size. */
export function parseSize(text: string): number | undefined {
  if (!new RegExp(sizePattern).test(text)) return undefined;
  const unit = text.replace(/[\d.\s]/g, '').toLowerCase();
  const factor = Object.entries(sizeUnits()).find(([name]) => name.toLowerCase() === unit)?.[1];
  const bytes = factor === undefined ? NaN : Math.round(Number.parseFloat(text) * factor);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Seconds of `90s`, `10h`, `1h30m` or `2d`; undefined when it is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (!new RegExp(durationPattern).test(text)) return undefined;
  let seconds = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*([smhdw])/g))
    seconds += Number(count) * (secondsIn[unit ?? ''] ?? NaN);
  return Number.isFinite(seconds) ? seconds : undefined;
}

/** `1.5 GB`: up to three digits, in the decimal units of `parseSize`. */
export function formatSize(bytes: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let [value, step] = [bytes, 0];
  while (value >= 999.5 && step < names.length - 1) [value, step] = [value / 1000, step + 1];
  const figures = step === 0 || value >= 99.95 ? 0 : 1;
  return `${Number(value.toFixed(figures))} ${names[step] ?? ''}`;
}

/** The `time` to request for what needs this long: a quarter more, rounded up to minutes, ten minutes or hours. */
export function timeToRequest(seconds: number): string {
  const withMargin = withHeadroom(seconds);
  const step = withMargin <= 600 ? 60 : withMargin <= 7200 ? 600 : 3600;
  return formatDuration(Math.ceil(withMargin / step) * step);
}

/** The `memory` to request for what uses this many bytes: a quarter more, in whole hundreds of megabytes. */
export const memoryToRequest = (bytes: number): string =>
  formatSize(Math.ceil(withHeadroom(bytes) / 1e8) * 1e8);

/** `1h30m`, `45s`: as `parseDuration` reads it. */
export function formatDuration(seconds: number): string {
  let [left, text] = [Math.round(seconds), ''];
  for (const unit of ['d', 'h', 'm', 's']) {
    const size = secondsIn[unit] ?? 1;
    if (left >= size) text += `${Math.floor(left / size)}${unit}`;
    left %= size;
  }
  return text === '' ? '0s' : text;
}
