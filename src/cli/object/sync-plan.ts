/** What is known about one of two sides without reading it. */
export interface Side {
  size?: number;
  /** Milliseconds since the epoch. */
  modified?: number;
}

/** One file and its object; the side that is missing is undefined. */
export interface SyncItem {
  url: string;
  file: string;
  local?: Side;
  remote?: Side;
}

export type Direction = 'down' | 'up';

/** `compare`: size and times do not decide, so the digests must. */
export type SyncAction = 'new' | 'update' | 'same' | 'compare';

const seconds = (ms: number): number => Math.floor(ms / 1000);

/**
 * Whether to copy. A different size means different content. A downloaded file has its object's time; an
 * object has the time of its upload, so it is current if it is newer than the file. Servers report whole seconds.
 */
export function syncActionOf(
  { local, remote }: SyncItem,
  direction: Direction,
  byDigest: boolean,
): SyncAction {
  const copy = direction === 'down' ? local : remote;
  if (copy === undefined) return 'new';
  if (local?.size !== undefined && remote?.size !== undefined && local.size !== remote.size) return 'update';
  if (byDigest || local?.modified === undefined || remote?.modified === undefined) return 'compare';
  const [file, object] = [seconds(local.modified), seconds(remote.modified)];
  return (direction === 'down' ? file === object : file < object) ? 'same' : 'compare';
}
