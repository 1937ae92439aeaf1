/** @import { Tone } from '../page-data.ts' */

/** A mark for every tone, so that colour is never the only sign. @type {Record<Tone, string>} */
export const marks = { good: '✓', busy: '▶', idle: '○', warn: '‖', bad: '✗' };

const steps = /** @type {const} */ ([
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]);

/**
 * `3h05m`, `2m35s`, `4.2s`: as the command line writes it.
 *
 * @param {number} millis
 */
export function showMillis(millis) {
  if (millis < 9950) return `${(millis / 1000).toFixed(1)}s`;
  const rounded = Math.round(millis / 1000) * 1000;
  const first = steps.findIndex(([, size]) => rounded >= size);
  const [big, small] = [steps[first], steps[first + 1]];
  if (big === undefined) return '0s';
  const text = `${Math.floor(rounded / big[1])}${big[0]}`;
  if (small === undefined) return text;
  return `${text}${String(Math.floor((rounded % big[1]) / small[1])).padStart(2, '0')}${small[0]}`;
}

/**
 * `1.5 GB`, in decimal units.
 *
 * @param {number} bytes
 */
export function showSize(bytes) {
  const names = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let [value, step] = [bytes, 0];
  while (value >= 999.5 && step < names.length - 1) [value, step] = [value / 1000, step + 1];
  return `${Number(value.toFixed(step === 0 || value >= 99.95 ? 0 : 1))} ${names[step] ?? ''}`;
}

/**
 * @param {number} part
 * @param {number} whole
 */
export const showShare = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '–');

/**
 * `1 job`, `3 jobs`.
 *
 * @param {number} count
 * @param {string} word
 */
export const many = (count, word) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
