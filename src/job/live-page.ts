/**
 * The most that a running attempt shows of a log of its training, so that looking at it costs little however much it
 * prints. The page is rewritten from time to time; its first line says where in the log it begins.
 */
export const livePageBytes = 1 << 18;

const head = /^updraft: from byte (\d+)\n/;

export const livePageHead = (from: number): string => `updraft: from byte ${from}\n`;

/** A part of a log and the byte at which it begins there. */
export interface LivePage {
  from: number;
  bytes: Buffer;
}

/** Undefined where the bytes are no page, or one that is not begun. */
export function readLivePage(bytes: Buffer): LivePage | undefined {
  const match = head.exec(bytes.toString('latin1', 0, 64));
  return match === null ? undefined : { from: Number(match[1]), bytes: bytes.subarray(match[0].length) };
}
