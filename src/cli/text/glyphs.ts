import type { Env } from '../../base/env.ts';
import { isUtf8 } from './locale.ts';

/** The marks of bars: blocks where the terminal's locale is UTF-8, the letters of `condor_watch_q` elsewhere. */
export interface Glyphs {
  done: string;
  running: string;
  failed: string;
  idle: string;
}

export function glyphsFor(env: Env): Glyphs {
  return isUtf8(env)
    ? { done: '█', running: '▒', failed: '×', idle: '·' }
    : { done: '#', running: '=', failed: '!', idle: '-' };
}
