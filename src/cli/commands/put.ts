import { once } from 'node:events';
import type { ReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { defined, mapLimited } from '@updraft/base';
import { walkTree } from '@updraft/base/disk';
import type { FederationLocator } from '@updraft/pelican/federation';
import { alreadyThere, type Put, putObject, statFile } from '@updraft/pelican/transfer';
import { asFault, Fault, usageFault } from '@updraft/account/fault';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { hasScheme, statUrl } from '../../preflight/object-proof.ts';
import { below, type ObjectFlags, openFederation } from '../object/access.ts';
import { boardMode, TransferBoard } from '../object/board.ts';
import { offerLogins } from '../object/offer-login.ts';
import { displayPath, faultJson, printTransferFault, throwWorstFault } from '../object/print-results.ts';
import { integerOption } from '../submit/options.ts';
import { atOwner, isProven, wholeSeconds } from '../object/fetch-item.ts';
import { describeAmount, describeVerified } from '../object/describe-transfer.ts';

interface Options extends ObjectFlags {
  recursive?: true;
  parallel: number;
  overwrite?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'objects.md', [
    'updraft put model.pt osdf:///inbox/me/model.pt            # one file',
    'updraft put --recursive results osdf:///inbox/me/results  # a folder',
  ])
    .argument('<file...>', 'files, then the URL (a folder if it ends with / or there are several files)')
    .option('-r, --recursive', 'upload folders: what is not there yet')
    .option('-p, --parallel <number>', 'number of parallel transfers', integerOption(99), 2)
    .option('--overwrite', 'replace existing objects')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print a line of JSON for each file')
    .option('-q, --quiet', 'show no progress')
    .action((words: string[], options: Options) => put(cli, words, options));
}

async function put(cli: Cli, words: string[], options: Options): Promise<void> {
  const items = await listUploads(cli, words, options.recursive === true);
  const federation = openFederation(cli);
  const urls = options.json ? [] : items.map(({ url }) => url);
  await offerLogins(cli, federation, urls, { ...options, verb: 'PUT' });
  const board = new TransferBoard(cli, boardMode(cli, options), items.length);
  const results = await mapLimited(items, options.parallel, async (item) => {
    const result = await putItem(cli, board, item, federation, options);
    printPut(cli, board, result, options);
    return result;
  });
  board.close();
  throwWorstFault(cli, results, {
    json: options.json === true,
    again: 'run the same command again for what is missing; existing objects stay',
  });
  const old = results.filter(({ isOld }) => isOld).length;
  if ((items.length > 1 || options.recursive) && options.json === undefined)
    cli.err(`${items.length - old} uploaded, ${old} already there\n`);
}

/** One file to upload and the object it becomes. */
interface PutItem {
  file: string;
  url: string;
  checkOpened?: ReturnType<typeof openedWithin>;
  /** Why it is not sent: a link that leads out of the folder. */
  fault?: Fault;
}

/** The result for one file. */
interface PutResult extends PutItem {
  put?: Put & { seconds: number };
  /** The same object was already there. */
  isOld?: true;
}

/** Uploads one file and shows it on the board; a failure is part of the result, so that the others continue. */
async function putItem(
  cli: Cli,
  board: TransferBoard,
  item: PutItem,
  federation: FederationLocator,
  { overwrite, recursive, tokenFile }: { overwrite?: boolean; recursive?: boolean; tokenFile?: string },
): Promise<PutResult> {
  if (item.fault !== undefined) return item;
  const started = cli.clock.monotonic();
  const seconds = (): number => (cli.clock.monotonic() - started) / 1000;
  const oldCopy = async (): Promise<PutResult | undefined> => {
    const old = await existingCopy(cli, item, federation, tokenFile, overwrite !== true);
    return old && { ...item, put: { ...old, seconds: seconds() }, isOld: true };
  };
  try {
    cli.signal.throwIfAborted();
    const { signal } = cli;
    const same = overwrite && recursive ? await oldCopy() : undefined;
    if (same !== undefined) return same;
    const { checkOpened } = item;
    const how = { federation, signal, checkOpened, overwrite: overwrite === true, ...defined({ tokenFile }) };
    const put = await board.during(path.basename(item.file), (onProgress) =>
      putObject(item.file, item.url, { ...how, onProgress }),
    );
    return { ...item, put: { ...put, seconds: seconds() } };
  } catch (error) {
    const fault = asFault(error);
    const old = fault.kind === 'usage' ? await oldCopy() : undefined;
    return old ?? { ...item, fault: withOurFix(fault) };
  }
}

/**
 * The origin's object, if it is the file; comparing does not download it again. Where the origin has no digest, it is
 * if it has the file's size and is newer than the last change of the file, under this name: an object has the time of
 * its upload.
 */
async function existingCopy(
  cli: Cli,
  { file, url }: PutItem,
  locator: FederationLocator,
  tokenFile: string | undefined,
  byTime: boolean,
): Promise<Put | undefined> {
  const options = { locator, clock: cli.clock, signal: cli.signal, ...defined({ tokenFile }) };
  try {
    const owner = await atOwner(url, options);
    if (!owner.isOwner) return undefined;
    const there = await alreadyThere(owner.url, file, options);
    if (there === undefined) return undefined;
    const { bytes, verified } = there;
    if (!isProven(there)) {
      if (!byTime) return undefined;
      const object = await statUrl(url, { ...options, federation: locator });
      const { mtimeMs, ctimeMs } = await stat(file);
      const isNewer = wholeSeconds(object?.modified ?? 0) > wholeSeconds(Math.max(mtimeMs, ctimeMs));
      if (!isNewer) return undefined;
    }
    return { bytes, verified: verified === 'manifest' ? 'digest' : verified, server: '' };
  } catch {
    return undefined;
  }
}

function withOurFix(fault: Fault): Fault {
  if (fault.kind !== 'usage') return fault;
  return new Fault('usage', fault.message, { fix: 'choose another name, or add --overwrite', cause: fault });
}

/** The result of one file: a line, or an object of JSON. */
function printPut(
  cli: Cli,
  board: TransferBoard,
  { file, url, put, fault, isOld }: PutResult,
  { json, recursive }: { json?: boolean; recursive?: boolean },
): void {
  if (json)
    board.print(JSON.stringify({ file, url, ...put, skipped: isOld, error: fault && faultJson(fault) }));
  else if (fault !== undefined) printTransferFault(board, displayPath(cli, file), fault);
  else if (isOld && put !== undefined) {
    if (recursive !== true) board.print(`${url}: already there; ${describeVerified(put.verified)}`);
  } else if (put !== undefined)
    board.print(
      `${url}: ${describeAmount(put.bytes, put.seconds)}; to ${put.server}; ${describeVerified(put.verified)}`,
    );
}

/** Every file to upload, and its URL. */
async function listUploads(cli: Cli, words: readonly string[], recursive: boolean): Promise<PutItem[]> {
  const url = words.at(-1) ?? '';
  const names = words.slice(0, -1);
  if (names.length === 0 || !hasScheme(url))
    throw usageFault(
      `"${url}" is not a URL to upload to`,
      'write the files first, then the URL: updraft put model.pt osdf:///PATH/model.pt',
      url,
    );
  const isFolder = names.length > 1 || (url.split('?', 1)[0] ?? '').endsWith('/');
  const items: PutItem[] = [];
  for (const name of names) {
    const file = path.resolve(cli.cwd, name);
    const to = isFolder ? below(url, path.basename(file)) : url;
    if (!(await statFile(file)).isDirectory()) items.push({ file, url: to });
    else if (recursive) items.push(...(await filesBelow(file, to)));
    else throw usageFault(`${name} is a folder`, 'add --recursive to upload everything in it', name);
  }
  return items;
}

async function filesBelow(folder: string, url: string): Promise<PutItem[]> {
  const [items, within]: [PutItem[], string] = [[], await realpath(folder)];
  const tree = await walkTree(folder).catch((cause: unknown) => {
    const fix = 'make all in it readable; a name that is not UTF-8 must be changed';
    throw new Fault('file-invalid', (cause as Error).message, { about: folder, fix, cause });
  });
  for (const { name, kind } of tree) {
    const file = path.join(folder, name);
    const fault = kind === 'link' ? await linkFault(file, folder, within) : undefined;
    const checkOpened = openedWithin(file, within);
    if (kind !== 'folder') items.push({ file, url: below(url, name), checkOpened, ...defined({ fault }) });
  }
  return items;
}

/** A link is sent as the file that it names only if that is in the folder: nothing else was named to be uploaded. */
async function linkFault(link: string, folder: string, within: string): Promise<Fault | undefined> {
  const file = await realpath(link).catch(() => undefined);
  const isInside = file?.startsWith(`${within}/`) === true;
  const isFile = file !== undefined && (await stat(file)).isFile();
  if (isInside && isFile) return undefined;
  if (file === undefined) return unsent(link, 'leads nowhere');
  return unsent(link, `is a link to ${file}, ${isInside ? 'not a file' : `outside ${folder}`}`);
}

const fix = 'put the files themselves there, or remove the link';
const unsent = (about: string, why: string): Fault =>
  new Fault('file-invalid', `${about} ${why}`, { about, fix });

/** A link may have taken the place of the file, or of a folder above it, since it was listed. */
export const openedWithin =
  (file: string, within: string) =>
  async (stream: ReadStream): Promise<void> => {
    const [fd] = (await once(stream, 'open')) as [number];
    const opened = await realpath(`/proc/self/fd/${fd}`).catch(() => realpath(file));
    if (opened.startsWith(`${within}/`)) return;
    stream.destroy();
    throw unsent(file, `now leads to ${opened}, outside ${within}`);
  };
