import type { Env } from '@updraft/base';
import type { TextPage } from '@updraft/view/document';

/** The marks of bars: blocks where the terminal's locale is UTF-8, the letters of `condor_watch_q` elsewhere. */
export type Glyphs = TextPage['glyphs'];

export function glyphsFor(env: Env): Glyphs {
  return isUtf8(env)
    ? { done: '█', running: '▒', failed: '×', idle: '·' }
    : { done: '#', running: '=', failed: '!', idle: '-' };
}

/** Whether a terminal of this environment shows UTF-8. An empty variable counts as unset, as in the C library. */
export function isUtf8(env: Env): boolean {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => (value ?? '') !== '') ?? '';
  return /utf-?8/i.test(locale);
}

const plain: Partial<Record<string, string>> = {
  '…': '~',
  '’': "'",
  '·': '-',
  '–': '-',
  '×': 'x',
  '✓': '+',
  '✗': '!',
};

/** Updraft's marks as ASCII of the same width; users' names stay unchanged. */
export const toAscii = (text: string): string => text.replaceAll(/[…’·–×✓✗]/g, (mark) => plain[mark] ?? mark);
