import type { Disconnected } from './state.ts';

/** `2026-11-15 22:03:04 UTC`. */
const shown = (time: string): string => `${time.slice(0, 19).replace('T', ' ')} UTC`;

/** Since when the machine of an attempt is disconnected, and when the pool gives up. */
export const describeConnection = ({ since, until }: Disconnected): string =>
  `disconnected since ${shown(since)}; the pool gives up at ${shown(until)}`;
