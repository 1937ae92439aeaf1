import { utimes } from 'node:fs/promises';
import type { Command } from 'commander';
import { counted } from '../../base/counted.ts';
import { defined } from '../../base/defined.ts';
import { mapLimited } from '../../base/map-limited.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import { IdleConnections } from '../../http/connections.ts';
import type { Cli } from '../cli.ts';
import { hasScheme, openFederation, type ObjectFlags } from '../object/access.ts';
import { boardMode, TransferBoard } from '../object/board.ts';
import { cacheOptions, type CacheOptions } from '../object/cache-options.ts';
import { confirmDeletion } from '../object/confirm-deletion.ts';
import { fetchItem, type FetchItemOptions } from '../object/fetch-item.ts';
import { offerLogins } from '../object/offer-login.ts';
import { putItem, existingCopy, printPut } from '../object/put-items.ts';
import { type Direction, type SyncItem, type SyncAction, syncActionOf } from '../object/sync-plan.ts';
import { readSides, type Sides } from '../object/sync-sides.ts';
import {
  throwWorstFault,
  printJsonResult,
  displayPath,
  printTransferFault,
  printResult,
} from '../object/print-results.ts';
import { integerOption } from '../submit/options.ts';

interface Options extends ObjectFlags, CacheOptions {
  delete?: true;
  yes?: true;
  dryRun?: true;
  checksum?: true;
  parallel: number;
}

/** The result for one item. */
interface SyncResult {
  action: 'new' | 'update' | 'same' | 'delete';
  /** Absent where only the file exists. */
  url?: string;
  file?: string;
  bytes?: number;
  verified?: string;
  fault?: Fault;
}

export function configure(command: Command, cli: Cli): void {
  cacheOptions(command)
    .argument('<source>', 'a local folder or file, or a URL')
    .argument('<target>', 'a URL, or a local folder or file')
    .option('--delete', 'delete what the source does not have, after confirmation')
    .option('-y, --yes', 'delete without confirmation')
    .option('--dry-run', 'show what would be done')
    .option('-c, --checksum', 'compare digests, not sizes and times')
    .option('-p, --parallel <number>', 'number of parallel transfers', integerOption(99), 4)
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print a line of JSON for each object')
    .option('-q, --quiet', 'show no progress')
    .action((source: string, target: string, options: Options) => sync(cli, { source, target }, options));
}

async function sync(cli: Cli, ends: { source: string; target: string }, options: Options): Promise<void> {
  const { tokenFile } = options;
  const federation = openFederation(cli, options);
  const isUp = hasScheme(ends.target);
  const url = isUp ? ends.target : ends.source;
  const how = { verb: isUp ? 'PUT' : 'GET', tokenFile, overwrite: true } as const;
  await offerLogins(cli, federation, options.json ? [] : [url], how);
  const sides = await readSides(cli, ends, { federation, signal: cli.signal, ...defined({ tokenFile }) });
  const extras = options.delete ? sides.extras : [];
  if (extras.length > 0) await confirmSync(cli, ends, sides, options);
  const board = new TransferBoard(cli, boardMode(cli, options), sides.items.length);
  using connections = new IdleConnections(cli.clock);
  const syncing: Syncing = { cli, board, options, direction: sides.direction, federation, connections };
  const results = await mapLimited(sides.items, options.parallel, (item) => syncItem(syncing, item));
  // A failed copy may mean that the source could not be read.
  if (results.every(({ fault }) => fault === undefined))
    for (const extra of extras) results.push(await removeExtra(syncing, extra));
  board.close();
  const named = results.map(({ url, file = '', fault }) => ({ url: url ?? file, ...defined({ fault }) }));
  throwWorstFault(cli, named, {
    json: options.json === true,
    again: 'run the same command again for what is missing',
  });
  if (options.json === undefined) cli.err(`${summary(results, sides, options)}\n`);
}

async function confirmSync(
  cli: Cli,
  { source, target }: { source: string; target: string },
  { items, extras }: Sides,
  { yes, dryRun }: Options,
): Promise<void> {
  if (items.length === 0)
    throw new Fault('usage', `${source} is empty, and --delete would delete all of ${target}`, {
      about: source,
      fix: `check the source; to delete everything, use ${hasScheme(target) ? '`updraft rm --recursive`' : 'rm -r'}`,
    });
  const what = `${counted(extras.length, 'file')} in ${target} that ${extras.length === 1 ? 'is' : 'are'} not in ${source}`;
  const names = extras.map(({ name }) => name);
  await confirmDeletion(cli, { what, names, yes: yes === true || dryRun === true });
}

interface Syncing extends Pick<FetchItemOptions, 'federation' | 'connections'> {
  cli: Cli;
  board: TransferBoard;
  options: Options;
  direction: Direction;
}

async function syncItem(syncing: Syncing, item: SyncItem): Promise<SyncResult> {
  const { cli, board, options, direction, federation } = syncing;
  const { url, file } = item;
  let verdict: SyncAction = syncActionOf(item, direction, options.checksum === true);
  if (verdict === 'compare') {
    const same = await existingCopy(cli, item, federation, options.tokenFile);
    // The same size proves nothing where the times differ.
    verdict = same?.verified === 'digest' ? 'same' : 'update';
    if (verdict === 'same' && options.dryRun === undefined) await copyModifiedTime(syncing, item);
  }
  if (verdict === 'same' || options.dryRun) {
    const result: SyncResult = { action: verdict, url, file };
    const name = direction === 'down' ? displayPath(cli, file) : url;
    if (options.json) board.print(JSON.stringify(result));
    else if (verdict !== 'same') board.print(`${verdict} ${name}`);
    return result;
  }
  return direction === 'down' ? await fetchOne(syncing, item, verdict) : await putOne(syncing, item, verdict);
}

type Change = Exclude<SyncAction, 'same' | 'compare'>;

async function fetchOne(syncing: Syncing, item: SyncItem, action: Change): Promise<SyncResult> {
  const { cli, board, options, federation, connections } = syncing;
  const { url, file, remote = {} } = item;
  // Caches still serve the old bytes of a replaced object.
  const from = action === 'update' ? `${url}${url.includes('?') ? '&' : '?'}directread` : url;
  const how: FetchItemOptions = {
    federation,
    ...defined({ connections, tokenFile: options.tokenFile }),
    ...(action === 'update' && { overwrite: true }),
  };
  const got = await fetchItem(cli, board, { url: from, target: file, listed: remote }, how);
  if (got.fault === undefined) await copyModifiedTime(syncing, item);
  const { bytes, verified } = got.fetched ?? {};
  const result = { action, url, file, ...defined({ bytes, verified, fault: got.fault }) };
  if (options.json) printJsonResult(board, result);
  else printResult(cli, board, got, {});
  return result;
}

async function putOne(syncing: Syncing, item: SyncItem, action: Change): Promise<SyncResult> {
  const { cli, board, options, federation } = syncing;
  const how = { overwrite: action === 'update', ...defined({ tokenFile: options.tokenFile }) };
  const put = await putItem(cli, board, item, federation, how);
  const { bytes, verified } = put.put ?? {};
  const { url, file } = item;
  const result = { action, url, file, ...defined({ bytes, verified, fault: put.fault }) };
  if (options.json) printJsonResult(board, result);
  else printPut(cli, board, put, {});
  return result;
}

/** A file with its object's time counts as unchanged without being read. */
async function copyModifiedTime({ cli, direction }: Syncing, { file, remote }: SyncItem): Promise<void> {
  if (direction === 'down' && remote?.modified !== undefined)
    await utimes(file, cli.clock.now() / 1000, remote.modified / 1000);
}

async function removeExtra(
  { cli, board, options, direction }: Syncing,
  { name, remove }: Sides['extras'][number],
): Promise<SyncResult> {
  const result: SyncResult = { action: 'delete', ...(direction === 'down' ? { file: name } : { url: name }) };
  const said = direction === 'down' ? displayPath(cli, name) : name;
  try {
    cli.signal.throwIfAborted();
    if (options.dryRun === undefined) await remove();
    if (options.json) printJsonResult(board, result);
    else board.print(options.dryRun ? `delete ${said}` : `${said}: deleted`);
  } catch (error) {
    result.fault = asFault(error);
    if (options.json) printJsonResult(board, result);
    else printTransferFault(board, said, result.fault);
  }
  return result;
}

function summary(results: readonly SyncResult[], { extras }: Sides, options: Options): string {
  const count = (action: SyncResult['action']): number =>
    results.filter((result) => result.action === action).length;
  const done = `${count('new')} new, ${count('update')} ${options.dryRun ? 'to update' : 'updated'}, ${count('same')} unchanged, ${count('delete')} ${options.dryRun ? 'to delete' : 'deleted'}`;
  const left =
    options.delete || extras.length === 0
      ? ''
      : `; the target has ${counted(extras.length, 'file')} more: --delete deletes ${extras.length === 1 ? 'it' : 'them'}`;
  return `${done}${left}${options.dryRun ? '; nothing was changed' : ''}`;
}
