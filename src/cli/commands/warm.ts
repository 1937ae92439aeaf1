import type { Command } from 'commander';
import { counted, defined, formatSize, isShardList, mapLimited, shardRange, shellQuote } from '@updraft/base';
import {
  askCopy,
  byJobFile,
  type CachedCopy,
  canPrestage,
  type FederationLocator,
  hasPrestage,
  type Located,
  type Locator,
  type ObjectServer,
  parseObjectUrl,
  preferCaches,
  prestage,
  unescapePath,
  walkCollection,
} from '@updraft/pelican/federation';
import { besideList, fetchToStream, type Verification } from '@updraft/pelican/transfer';
import { asFault, Fault } from '@updraft/account/fault';
import { loadJobFile } from '../../job/load-plan.ts';
import { everyObjectOf } from '../../preflight/ask-objects.ts';
import type { AskedObject } from '../../preflight/gathered.ts';
import { readShards } from '../../preflight/ask-shards.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { loadOptions } from '../job-file-argument.ts';
import { hasScheme, statUrl } from '../../preflight/object-proof.ts';
import { accessTo, type ObjectFlags, openFederation } from '../object/access.ts';
import { boardMode, TransferBoard } from '../object/board.ts';
import { cacheOptions, type CacheOptions } from '../object/cache-options.ts';
import { offerLogins } from '../object/offer-login.ts';
import { printJsonResult, printTransferFault, throwWorstFault } from '../object/print-results.ts';
import { describeAmount, describeVerified, untilTime } from '../object/describe-transfer.ts';
import { integerOption } from '../submit/options.ts';

interface Options extends ObjectFlags, CacheOptions {
  recursive?: true;
  caches: number;
  parallel: number;
  dryRun?: true;
}

/** As many as federation clients try before they give up. */
const defaultCaches = 3;

export function configure(command: Command, cli: Cli): void {
  addHelp(command, {
    page: 'caches.md',
    examples: [
      ['updraft warm', 'the data of the job file here'],
      ['updraft warm --dry-run osdf:///demo/train.tar', 'which caches have it, and the cost'],
    ],
  });
  cacheOptions(command, 'fill this cache instead of those the director names')
    .argument('[url...]', 'objects (default: the data of the job file here)')
    .option('-r, --recursive', 'the URLs are folders; take everything in them')
    .option(
      '-n, --caches <number>',
      'how many of the caches that the director names',
      integerOption(6),
      defaultCaches,
    )
    .option('-p, --parallel <number>', 'number of caches filled in parallel', integerOption(16), 2)
    .option('--dry-run', 'show which caches have it and what filling costs')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print a line of JSON for each object and cache')
    .option('-q, --quiet', 'show no progress')
    .action((words: string[], options: Options) => warm(cli, words, options));
}

async function warm(cli: Cli, words: string[], options: Options): Promise<void> {
  const federation = openFederation(cli, options);
  const items = await itemsOf(cli, federation, words, options);
  const urls = options.json ? [] : items.map(({ url }) => url);
  await offerLogins(cli, federation, urls, { verb: 'GET', tokenFile: options.tokenFile });
  const failed: WarmResult[] = [];
  const asked = await mapLimited(items, 8, async (item) => {
    try {
      return await askCaches(cli, await withSize(cli, item), options);
    } catch (error) {
      cli.signal.throwIfAborted();
      failed.push({ url: item.url, cache: '', outcome: 'failed', fault: asFault(error) });
      return [];
    }
  });
  const pairs = asked.flat();
  const board = new TransferBoard(cli, boardMode(cli, options), pairs.length);
  for (const result of failed) report(board, result, options);
  if (pairs.length > 0) board.news(describeCost(pairs));
  const results = await mapLimited(pairs, options.parallel, async (pair) => {
    const result = options.dryRun ? expectedResult(pair) : await warmCache(cli, board, pair);
    report(board, result, options);
    return result;
  });
  board.close();
  throwWorstFault(cli, [...failed, ...results], {
    json: options.json === true,
    again: 'run the same command again: caches that have it are skipped',
  });
}

/** The objects to warm: named ones, all in folders, or the data of a job file. */
async function itemsOf(
  cli: Cli,
  federation: FederationLocator,
  words: readonly string[],
  { recursive, tokenFile }: Options,
): Promise<WarmItem[]> {
  const [first = '.'] = words;
  if (words.length < 2 && !hasScheme(first)) return await itemsOfJobFile(cli, federation, first);
  const stray = words.find((word) => !hasScheme(word));
  if (stray !== undefined) throw new Fault('usage', `"${stray}" is not a URL`, { about: stray });
  const how = { federation, signal: cli.signal, ...defined({ tokenFile }) };
  const items: WarmItem[] = [];
  for (const url of words)
    if (recursive === undefined) items.push({ url, federation, ...defined({ tokenFile }) });
    else
      for (const entry of await walkCollection(url, how))
        items.push({ url: entry.url, federation, ...defined({ size: entry.size, tokenFile }) });
  if (items.length === 0) cli.err('nothing to warm: the folder is empty\n');
  return items;
}

async function itemsOfJobFile(cli: Cli, federation: FederationLocator, where: string): Promise<WarmItem[]> {
  const { plan } = await loadJobFile(where, loadOptions(cli, {}));
  const objects = everyObjectOf(plan);
  const items = objects.filter(({ url }) => parseObjectUrl(url, cli.env).kind === 'federated');
  if (items.length === 0)
    throw new Fault('usage', `${plan.file} names no object of a federation`, {
      about: plan.file,
      fix: 'name the objects: updraft warm osdf:///PATH',
    });
  const expanded = items.map(async (asked) => {
    const { tokenFile, caches } = asked;
    const its = caches === undefined ? federation : preferCaches(federation, caches, byJobFile);
    const urls = await withShards(cli, its, asked);
    return urls.map((url) => ({ url, federation: its, ...defined({ tokenFile }) }));
  });
  return (await Promise.all(expanded)).flat();
}

/** A list of shards, and the shards, which are most of it. */
async function withShards(cli: Cli, federation: FederationLocator, asked: AskedObject): Promise<string[]> {
  const { url, unpack = 'none', tokenFile } = asked;
  const range = shardRange(url);
  if (range !== undefined || !isShardList({ url, unpack })) return range ?? [url];
  const access = accessTo(cli, federation, defined({ tokenFile }));
  const shards = await readShards(cli, asked, access);
  return [url, ...shards.map(({ name }) => besideList(url, name))];
}

/** The size as the origin has it, so that an older version in a cache is noticed and the cost is known. */
async function withSize(cli: Cli, item: WarmItem): Promise<WarmItem> {
  if (item.size !== undefined) return item;
  const { url, federation, tokenFile } = item;
  const known = await statUrl(url, { federation, signal: cli.signal, ...defined({ tokenFile }) });
  if (known?.isCollection === true)
    throw new Fault('url-invalid', `${url} is a folder, not an object`, {
      about: url,
      fix: `updraft warm --recursive ${shellQuote(url)}`,
    });
  return { ...item, ...defined({ size: known?.size }) };
}

/** What filling the caches will cost. */
function describeCost(pairs: readonly WarmPair[]): string {
  const needed = pairs.filter(({ copy }) => copy.holds !== 'whole');
  const total = (some: readonly WarmPair[]): string =>
    formatSize(some.reduce((sum, { size = 0 }) => sum + size, 0));
  const here = needed.filter(({ isStaged }) => !isStaged);
  const hosts = new Set(needed.map(({ cache }) => cache.host)).size;
  if (needed.length === 0) return 'every cache already has it: nothing to do';
  const through =
    here.length === 0
      ? 'no data passes through this machine'
      : `${total(here)} of it passes through this machine: ` +
        `${[...new Set(here.map(({ cache }) => cache.host))].join(', ')} cannot fetch it without a reader`;
  // An older XRootD does not say whether it has the object.
  const upTo = needed.some(({ copy }) => copy.holds === 'unknown') ? 'up to ' : '';
  return `${upTo}${total(needed)} will be pulled from the origin into ${counted(hosts, 'cache')}; ${through}`;
}

function expectedResult({ url, cache, copy, size }: WarmPair): WarmResult {
  const outcome = copy.holds === 'whole' ? 'had' : 'to fill';
  return { url, cache: cache.host, outcome, ...defined({ bytes: size ?? copy.bytes }) };
}

function report(board: TransferBoard, result: WarmResult, { json }: Options): void {
  const { url, cache, outcome, bytes, seconds = 0, verified, fault } = result;
  const at = cache === '' ? url : `${url} at ${cache}`;
  if (json) printJsonResult(board, result);
  else if (fault !== undefined) printTransferFault(board, at, fault);
  else if (outcome === 'filled')
    board.print(
      `${at}: filled, ${describeAmount(bytes ?? 0, seconds)}; ${describeVerified(verified ?? 'none')}`,
    );
  else {
    const size = bytes === undefined ? '' : `, ${formatSize(bytes)}`;
    board.print(`${at}: ${outcome === 'had' ? 'had it' : 'does not have all of it'}${size}`);
  }
}

/** One object to put into caches. */
interface WarmItem {
  url: string;
  /** Locates it, with the caches that its job file names. */
  federation: FederationLocator;
  size?: number;
  tokenFile?: string;
}

/** One object at one cache: what the cache has, and how it would get the rest. */
interface WarmPair extends WarmItem {
  located: Located;
  cache: ObjectServer;
  copy: CachedCopy;
  /** The cache can prestage it; otherwise the bytes pass through this machine. */
  isStaged: boolean;
}

interface WarmResult {
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
async function askCaches(
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
async function warmCache(cli: Cli, board: TransferBoard, pair: WarmPair): Promise<WarmResult> {
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
