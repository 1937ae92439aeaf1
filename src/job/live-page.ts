/**
 * Max bytes that a running attempt shows of a log of its training, so that reading it stays cheap however much it
 * prints. The page is rewritten from time to time; its first line says where in the log it begins.
 */
export const livePageBytes = 1 << 18;

const head = /^updraft: from byte (\d+)\n/;

export const livePageHead = (from: number): string => `updraft: from byte ${from}\n`;

/** A part of a log and the offset at which it begins. */
export interface LivePage {
  from: number;
  bytes: Buffer;
}

/** Undefined if the bytes are not a page, or its first line is incomplete. */
export function readLivePage(bytes: Buffer): LivePage | undefined {
  const match = head.exec(bytes.toString('latin1', 0, 64));
  return match === null ? undefined : { from: Number(match[1]), bytes: bytes.subarray(match[0].length) };
}
