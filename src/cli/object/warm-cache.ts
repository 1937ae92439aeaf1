import { defined } from '@updraft/base';
import { asFault, Fault } from '../../fault/fault.ts';
import {
  askCopy,
  type CachedCopy,
  canPrestage,
  type FederationLocator,
  hasPrestage,
  type Located,
  type Locator,
  type ObjectServer,
  parseObjectUrl,
  prestage,
  unescapePath,
} from '@updraft/pelican/federation';
import { fetchToStream, type Verification } from '@updraft/pelican/transfer';
import type { Cli } from '../cli.ts';
import { accessTo } from './access.ts';
import type { TransferBoard } from './board.ts';
import { untilTime } from './describe-transfer.ts';

/** One object to put into caches. */
export interface WarmItem {
  url: string;
  /** Locates it, with the caches that its job file names. */
  federation: FederationLocator;
  size?: number;
  tokenFile?: string;
}

/** One object at one cache: what the cache has, and how it would get the rest. */
export interface WarmPair extends WarmItem {
  located: Located;
  cache: ObjectServer;
  copy: CachedCopy;
  /** The cache can prestage it; otherwise the bytes pass through this machine. */
  isStaged: boolean;
}

export interface WarmResult {
  url: string;
  cache: string;
  /** `to fill` in a dry run. */
  outcome: 'had' | 'filled' | 'failed' | 'to fill';
  bytes?: number;
  seconds?: number;
  verified?: Verification;
  fault?: Fault;
}

/** Which caches the director names for an object, and what they have of it; fetches nothing. */
export async function askCaches(
  cli: Cli,
  item: WarmItem,
  { caches: count, cache: named }: { caches: number; cache?: string[] },
): Promise<WarmPair[]> {
  const { federation } = item;
  const parsed = parseObjectUrl(item.url, cli.env);
  const how = { federation, signal: cli.signal, ...defined({ tokenFile: item.tokenFile }) };
  const located = await federation.locate(item.url, how);
  const all = located.servers.filter(({ kind }) => kind === 'cache');
  const caches =
    named === undefined ? all.slice(0, count) : all.filter(({ preferredBy }) => preferredBy === '--cache');
  if (parsed.kind !== 'federated' || caches.length === 0)
    throw new Fault('servers-unreachable', `${located.url} is not served by any cache`, {
      about: located.url,
      fix: 'warm only objects that the federation serves through caches',
    });
  return await Promise.all(
    caches.map(async (cache) => {
      const copy = await askCopy(located, cache, how);
      // Pelican's cache cannot prestage an object that it has in part; reading through it completes it.
      const mayStage = !['whole', 'part'].includes(copy.holds) && canPrestage(unescapePath(parsed.path));
      return {
        ...item,
        located,
        cache,
        copy,
        isStaged: mayStage && (await hasPrestage(located, cache, how)),
      };
    }),
  );
}

/** Fills one cache, unless it has the object; a failure is part of the result, so that the others continue. */
export async function warmCache(cli: Cli, board: TransferBoard, pair: WarmPair): Promise<WarmResult> {
  const { url, cache, copy, size } = pair;
  const result = { url, cache: cache.host };
  const isWhole = copy.holds === 'whole' && (size === undefined || copy.bytes === size);
  if (isWhole) return { ...result, outcome: 'had', ...defined({ bytes: size ?? copy.bytes }) };
  const started = cli.clock.monotonic();
  try {
    cli.signal.throwIfAborted();
    if (copy.holds === 'whole') throw otherSize(pair, copy.bytes);
    const filled = await (pair.isStaged ? stage : pull)(cli, board, pair);
    const seconds = (cli.clock.monotonic() - started) / 1000;
    return { ...result, outcome: 'filled', ...filled, seconds };
  } catch (error) {
    return { ...result, outcome: 'failed', fault: asFault(error) };
  }
}

type Filled = Pick<WarmResult, 'bytes' | 'verified'>;

const nameOf = ({ url, cache }: WarmPair): string => `${url.split('?', 1)[0] ?? ''} at ${cache.host}`;

async function stage(cli: Cli, board: TransferBoard, pair: WarmPair): Promise<Filled> {
  const { url, federation, located, cache, size, tokenFile } = pair;
  const parsed = parseObjectUrl(url, cli.env);
  const path = parsed.kind === 'federated' ? unescapePath(parsed.path) : '';
  const how = { federation, signal: cli.signal, ...defined({ tokenFile }) };
  await board.during(nameOf(pair), (done) =>
    prestage(located, cache, path, how, {
      offset: (bytes) => done(bytes, size),
      queued: (until) => board.news(`${nameOf(pair)}: queued at the cache, ${untilTime(until)}`),
    }),
  );
  const { holds, bytes } = await askCopy(located, cache, how);
  if (bytes !== undefined && size !== undefined && bytes !== size) throw otherSize(pair, bytes);
  if (holds === 'none')
    throw new Fault(
      'transfer-failed',
      `${url}: ${cache.host} reports that it fetched it, but does not have it`,
      {
        about: url,
        fix: 'the cache may be too small for it, or not allowed to keep it: name another one with --cache',
      },
    );
  const known = bytes ?? size;
  return { ...defined({ bytes: known }), verified: bytes === undefined ? 'none' : 'size' };
}

/** Reads the object through the cache, which keeps it; the bytes are verified and discarded. */
async function pull(cli: Cli, board: TransferBoard, pair: WarmPair): Promise<Filled> {
  const { url, federation, cache, size, tokenFile } = pair;
  const work = board.begin(nameOf(pair));
  const access = accessTo(cli, federation, defined({ tokenFile }));
  try {
    const { bytes, verified } = await fetchToStream(url, () => undefined, {
      ...access,
      limits: { ...access.limits, maxServers: 1 },
      locator: onlyAt(federation, cache),
      ...defined({ bytes: size }),
      onEvent: (event) => {
        if (event.kind === 'progress') board.progress(work, event);
      },
    });
    return { bytes, verified };
  } finally {
    board.end(work);
  }
}

/** No other server may help: this cache must get the object. */
const onlyAt = (federation: FederationLocator, server: ObjectServer): Locator => ({
  ca: federation.ca,
  async locate(url, options) {
    return { ...(await federation.locate(url, { ...options, direct: false })), servers: [server] };
  },
});

function otherSize({ url, size, cache }: WarmPair, bytes: number | undefined): Fault {
  return new Fault('data-wrong', `${url}: ${cache.host} has ${bytes ?? 0} bytes, the origin ${size ?? 0}`, {
    about: url,
    fix: 'the cache has an older version: publish each version under a new name',
  });
}
