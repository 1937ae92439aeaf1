import type { Env } from '../base/env.ts';

/** The marks of bars: blocks where the terminal's locale is UTF-8, the letters of `condor_watch_q` elsewhere. */
export interface Glyphs {
  done: string;
  running: string;
  failed: string;
  idle: string;
}

export function glyphsFor(env: Env): Glyphs {
  // An empty variable counts as unset, as it does for the C library.
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => (value ?? '') !== '') ?? '';
  return /utf-?8/i.test(locale)
    ? { done: '█', running: '▒', failed: '×', idle: '·' }
    : { done: '#', running: '=', failed: '!', idle: '-' };
}
