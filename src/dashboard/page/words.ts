import type { Tone } from '../page-data.ts';

/** A mark for every tone, so that colour is never the only sign. */
export const marks: Record<Tone, string> = { good: '✓', busy: '▶', idle: '○', warn: '‖', bad: '✗' };

export const showShare = (part: number, whole: number): string =>
  whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '–';

/** `1 job`, `3 jobs`. */
export const many = (count: number, word: string): string =>
  `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
