import type { Command } from 'commander';
import { counted, defined, formatSize, isShardList, mapLimited, shardRange, shellQuote } from '@updraft/base';
import { asFault, Fault } from '../../fault/fault.ts';
import {
  byJobFile,
  type FederationLocator,
  parseObjectUrl,
  preferCaches,
  walkCollection,
} from '@updraft/pelican/federation';
import { loadJobFile } from '../../job/load-plan.ts';
import { everyObjectOf } from '../check/ask-objects.ts';
import type { AskedObject } from '../check/gathered.ts';
import { readShards } from '../check/ask-shards.ts';
import { besideList } from '@updraft/pelican/transfer';
import type { Cli } from '../cli.ts';
import { loadOptions } from '../job-file-argument.ts';
import { accessTo, hasScheme, statUrl, openFederation, type ObjectFlags } from '../object/access.ts';
import { boardMode, TransferBoard } from '../object/board.ts';
import { cacheOptions, type CacheOptions } from '../object/cache-options.ts';
import { offerLogins } from '../object/offer-login.ts';
import { throwWorstFault, printJsonResult, printTransferFault } from '../object/print-results.ts';
import { describeAmount, describeVerified } from '../object/describe-transfer.ts';
import { askCaches, type WarmItem, type WarmPair, type WarmResult, warmCache } from '../object/warm-cache.ts';
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
      : `${total(here)} of it passes through this machine: ${[...new Set(here.map(({ cache }) => cache.host))].join(', ')} cannot fetch it without a reader`;
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
