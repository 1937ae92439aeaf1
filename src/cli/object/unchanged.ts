import { stat } from 'node:fs/promises';
import { withoutSecrets } from '../../base/printable.ts';
import { Fault } from '../../fault/fault.ts';
import type { Fetched, FetchOptions } from '../../transfer/fetch.ts';
import { fetchToFile } from '../../transfer/fetch-to-file.ts';
import type { GetItem } from './get-items.ts';

/** Servers report whole seconds. */
export const wholeSeconds = (ms: number): number => Math.floor(ms / 1000);

/** Whether a digest was compared, and not only the size. */
export const isProven = ({ verified }: Pick<Fetched, 'verified'>): boolean =>
  verified === 'digest' || verified === 'manifest';

/** An object as its owner has it: caches may still have what was there before under its name. */
interface AtOwner {
  url: string;
  /** False where only caches may be read. */
  isOwner: boolean;
}

/** Names an object so that its owner answers. */
export async function atOwner(url: string, { locator, ...how }: FetchOptions): Promise<AtOwner> {
  if (!/^(?:[^:/]*\+)?(?:osdf|stash|pelican):/i.test(url)) return { url, isOwner: true };
  const direct = `${url}${url.includes('?') ? '&' : '?'}directread`;
  try {
    const { servers } = await locator.locate(direct, how);
    if (servers.every(({ kind }) => kind !== 'cache')) return { url: direct, isOwner: true };
  } catch {
    how.signal?.throwIfAborted();
  }
  return { url, isOwner: false };
}

/**
 * Compares the file of an earlier download with the object that a listing has now. Returns the result if they are the
 * same, or where to fetch the object that replaces it; undefined if there is nothing yet. The same means: the owner's digest,
 * or, where it has none, its size and time, which a download gives to its file. With `overwrite` only digests count.
 */
export async function compareEarlier(
  { url, target, listed = {} }: GetItem,
  access: FetchOptions,
  overwrite: boolean,
): Promise<{ same: Fetched } | { from: string } | undefined> {
  const file = await stat(target).catch(() => undefined);
  if (file?.isFile() !== true) return undefined;
  const owner = await atOwner(url, access);
  const there = await fetchToFile(owner.url, target, access).catch((error: unknown) => {
    if (error instanceof Fault && error.kind === 'file-invalid') return undefined;
    throw error;
  });
  const { modified = NaN } = listed;
  const hasTime = wholeSeconds(file.mtimeMs) === wholeSeconds(modified);
  const isSame = there !== undefined && (isProven(there) ? owner.isOwner || hasTime : hasTime && !overwrite);
  if (isSame) return { same: there };
  if (overwrite) return { from: owner.url };
  const why = there === undefined ? 'and is not' : 'with another time, and no digest proves that it is';
  throw new Fault('usage', `${target} exists ${why} ${withoutSecrets(url)}`, {
    about: target,
    fix: 'remove it, name another folder, or add --overwrite',
  });
}
