import type { Disconnected } from './state.ts';

/** `2026-11-15 22:03:04 UTC`. */
const shown = (time: string): string => `${time.slice(0, 19).replace('T', ' ')} UTC`;

/** How long nobody has reached the machine of an attempt, and until when the pool tries to. */
export const describeConnection = ({ since, until }: Disconnected): string =>
  `disconnected since ${shown(since)}; the pool gives up at ${shown(until)}`;
