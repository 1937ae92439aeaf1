import { mkdir, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { defined, shellQuote } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import { asFault, Fault, usageFault } from '@updraft/account/fault';
import type { FederationLocator } from '@updraft/pelican/federation';
import type { IdleConnections } from '@updraft/pelican/http';
import {
  alreadyThere,
  deliverAgainIfWrong,
  type Fetched,
  type FetchOptions,
  fetchToFile,
  fetchToStream,
} from '@updraft/pelican/transfer';
import type { Unpacked, UnpackerOptions } from '@updraft/archive';
import type { Cli } from '../cli.ts';
import { type ProofOptions, readProof } from '../../preflight/object-proof.ts';
import { accessTo } from './access.ts';
import type { TransferBoard } from './board.ts';
import type { GetItem } from './get-items.ts';
import { setbackReporter, type TransferProgress } from './describe-transfer.ts';

export interface FetchItemOptions extends ProofOptions {
  federation: FederationLocator;
  connections?: IdleConnections;
  tokenFile?: string;
  overwrite?: true;
  /** Unpack while downloading, instead of keeping the archive. */
  unpack?: UnpackerOptions['mode'] | undefined;
}

/** The result for one object. */
export interface GetResult extends GetItem {
  fetched?: Fetched;
  unpacked?: Unpacked;
  /** Nothing was fetched: an earlier download is the same. */
  isOld?: true;
  setbacks: { server: string; kind: string; message: string }[];
  fault?: Fault;
}

/** Fetches one object and shows it on the board; a failure is part of the result, so that the others continue. */
export async function fetchItem(
  cli: Cli,
  board: TransferBoard,
  item: GetItem,
  options: FetchItemOptions,
): Promise<GetResult> {
  const work = board.begin(path.basename(item.target));
  const result: GetResult = { ...item, setbacks: [] };
  try {
    cli.signal.throwIfAborted();
    const access = await fetchOptions(cli, board, work, result, options);
    if (options.unpack === undefined) Object.assign(result, await toFile(item, access, options));
    else Object.assign(result, await toFolder(item, access, options.unpack));
  } catch (error) {
    result.fault = withFix(item, asFault(error));
  } finally {
    board.end(work);
  }
  return result;
}

function withFix({ url, listed }: GetItem, fault: Fault): Fault {
  const { kind, message } = fault;
  // Nobody but the listing, made a moment ago, expected that size.
  if (kind === 'expect-wrong' && listed !== undefined)
    return new Fault('object-changed', message, { about: url, cause: fault });
  const fix =
    kind === 'object-missing' && url.includes('/')
      ? `check the spelling: updraft ls ${shellQuote(url.slice(0, url.lastIndexOf('/')))}`
      : undefined;
  if (fix === undefined || fault.fix !== undefined) return fault;
  return new Fault(kind, message, { fix, about: url, cause: fault });
}

async function fetchOptions(
  cli: Cli,
  board: TransferBoard,
  work: TransferProgress,
  { url, listed, setbacks }: GetResult,
  options: FetchItemOptions,
): Promise<FetchOptions> {
  const { connections } = options;
  const access = { ...accessTo(cli, options.federation, options), ...defined({ connections }) };
  const proof = await readProof(cli, url, options, access);
  const bytes = listed?.size;
  const reportSetback = setbackReporter(url, work.name, (line) => board.news(line));
  return {
    ...access,
    ...defined({ bytes }),
    ...proof,
    onEvent: (event) => {
      if (event.kind === 'progress') {
        board.progress(work, event);
        return;
      }
      const { server, fault } = event;
      if (event.kind === 'setback') setbacks.push({ server, kind: fault.kind, message: fault.message });
      reportSetback(event);
    },
  };
}

async function toFile(
  item: GetItem,
  access: FetchOptions,
  { overwrite = false }: { overwrite?: boolean },
): Promise<Pick<GetResult, 'fetched' | 'isOld'>> {
  const { url, target, listed } = item;
  await makeFolder(path.dirname(target));
  await item.checkFolder?.();
  const earlier = listed && (await compareEarlier(item, access, overwrite));
  if (earlier !== undefined && 'same' in earlier) return { fetched: earlier.same, isOld: true };
  try {
    const from = earlier?.from ?? url;
    const there = overwrite ? undefined : await alreadyThere(from, target, access);
    const fetched = there ?? (await fetchToFile(from, target, access));
    // By this the next download of the folder knows it again.
    if (listed?.modified !== undefined) await utimes(target, new Date(), new Date(listed.modified));
    return { fetched };
  } catch (error) {
    // The engine's file error is a usage error here.
    if (error instanceof Fault && error.about === target && error.kind === 'file-invalid')
      throw new Fault('usage', error.message, {
        about: target,
        fix: 'remove it, name another file, or add --overwrite',
        cause: error,
      });
    throw error;
  }
}

/** Servers report whole seconds. */
export const wholeSeconds = (ms: number): number => Math.floor(ms / 1000);

/** Whether a digest was compared, and not only the size. */
export const isProven = ({ verified }: Pick<Fetched, 'verified'>): boolean =>
  verified === 'digest' || verified === 'manifest';

/** Names an object so that its owner answers, not an old cache; `isOwner` is false where only caches may be read. */
export async function atOwner(
  url: string,
  { locator, ...how }: FetchOptions,
): Promise<{ url: string; isOwner: boolean }> {
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
 * Compares the file of an earlier download with the object that a listing has now: the result if they are the same, or
 * where to fetch what replaces it; undefined if there is nothing yet. They are the same by the owner's digest or, where
 * it has none, by size and time, which a download gives to its file. With `overwrite` only digests count.
 */
async function compareEarlier(
  { url, target, listed = {} }: GetItem,
  access: FetchOptions,
  overwrite: boolean,
): Promise<{ same: Fetched } | { from: string } | undefined> {
  const file = await stat(target).catch(() => undefined);
  if (file?.isFile() !== true) return undefined;
  const owner = await atOwner(url, access);
  const there = await alreadyThere(owner.url, target, access).catch((error: unknown) => {
    if (error instanceof Fault && error.kind === 'file-invalid') return undefined;
    throw error;
  });
  const { modified = NaN } = listed;
  const hasTime = wholeSeconds(file.mtimeMs) === wholeSeconds(modified);
  const isSame = there !== undefined && (isProven(there) ? owner.isOwner || hasTime : hasTime && !overwrite);
  if (isSame) return { same: there };
  if (overwrite) return { from: owner.url };
  const why = there === undefined ? 'and is not' : 'with another time, and no digest proves that it is';
  throw usageFault(
    `${target} exists ${why} ${withoutSecrets(url)}`,
    'remove it, name another folder, or add --overwrite',
    target,
  );
}

async function toFolder(
  { url, target, checkFolder }: GetItem,
  access: FetchOptions,
  mode: UnpackerOptions['mode'],
): Promise<Pick<GetResult, 'fetched' | 'unpacked'>> {
  const into = path.dirname(target);
  await makeFolder(into);
  await checkFolder?.();
  // Not loaded when nothing is unpacked.
  const { openUnpacker, unpackFetched } = await import('@updraft/archive');
  return await deliverAgainIfWrong(url, access, async (options) => {
    const unpacker = openUnpacker({ name: url, mode, into });
    return await unpackFetched(unpacker, options, (write, onDigest) =>
      fetchToStream(url, write, { ...options, onDigest }),
    );
  });
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new Fault('scratch-unusable', `cannot create the folder ${folder}: ${(error as Error).message}`, {
      about: folder,
      cause: error,
    });
  }
}
