import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { defined } from '../../base/defined.ts';
import { mapLimited } from '../../base/map-limited.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import type { FederationLocator } from '../../federation/locator.ts';
import { type Put, putObject } from '../../federation/put-object.ts';
import { fetchToFile } from '../../transfer/fetch-to-file.ts';
import type { Cli } from '../cli.ts';
import { below, hasScheme, openFederation } from '../object/access.ts';
import { TransferBoard, boardMode } from '../object/board.ts';
import { offerLogins } from '../object/login.ts';
import { endWith, faultJson, shown, tellFault } from '../object/tell-results.ts';
import { amountWords, verifiedWords } from '../object/transfer-words.ts';
import { wholeNumber } from '../submit/options.ts';
import { counted } from '../text/words.ts';

interface Options {
  recursive?: true;
  parallel: number;
  overwrite?: true;
  tokenFile?: string;
  json?: true;
  quiet?: true;
}

interface PutResult extends PutItem {
  put?: Put & { seconds: number };
  /** The very same was there before. */
  isOld?: true;
  fault?: Fault;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument(
      '<file...>',
      'files, then the URL to upload to; a folder if it ends with / or there are several',
    )
    .option('-r, --recursive', 'upload all that is in folders')
    .option('-p, --parallel <number>', 'files at once', wholeNumber(99), 2)
    .option('--overwrite', 'replace objects that exist')
    .option('--token-file <file>', 'file with the token, instead of the usual places')
    .option('--json', 'one line of JSON for each file')
    .option('-q, --quiet', 'no progress')
    .addHelpText('after', example)
    .action((words: string[], options: Options) => put(cli, words, options));
}

async function put(cli: Cli, words: string[], options: Options): Promise<void> {
  const items = await listUploads(cli, words, options.recursive === true);
  const federation = openFederation(cli);
  const urls = options.json ? [] : items.map(({ url }) => url);
  await offerLogins(cli, federation, urls, { verb: 'PUT', tokenFile: options.tokenFile });
  const board = new TransferBoard(cli, boardMode(cli, options), items.length);
  const results = await mapLimited(items, options.parallel, async (item) => {
    const result = await putItem(cli, board, item, federation, options);
    tell(cli, board, result, options);
    return result;
  });
  board.close();
  endWith(cli, results, {
    json: options.json === true,
    again: 'run the same command again for what is missing; what is there is left alone',
  });
  if (items.length > 1 && options.json === undefined)
    cli.err(`${counted(items.length, 'object')} uploaded\n`);
}

async function putItem(
  cli: Cli,
  board: TransferBoard,
  item: PutItem,
  federation: FederationLocator,
  { overwrite, tokenFile }: Options,
): Promise<PutResult> {
  const started = cli.clock.monotonic();
  const seconds = (): number => (cli.clock.monotonic() - started) / 1000;
  try {
    cli.signal.throwIfAborted();
    const { signal } = cli;
    const how = { federation, signal, overwrite: overwrite === true, ...defined({ tokenFile }) };
    const put = await board.during(path.basename(item.file), (onProgress) =>
      putObject(item.file, item.url, { ...how, onProgress }),
    );
    return { ...item, put: { ...put, seconds: seconds() } };
  } catch (error) {
    const fault = asFault(error);
    const old = fault.kind === 'usage' ? await sameThere(cli, item, federation, tokenFile) : undefined;
    if (old !== undefined) return { ...item, put: { ...old, seconds: seconds() }, isOld: true };
    return { ...item, fault: inOurWords(fault) };
  }
}

/** What the origin has under the name, if that is the file: a file that is its own copy is not fetched again. */
async function sameThere(
  cli: Cli,
  { file, url }: PutItem,
  locator: FederationLocator,
  tokenFile: string | undefined,
): Promise<Put | undefined> {
  const atOrigin = `${url}${url.includes('?') ? '&' : '?'}directread`;
  const options = { locator, clock: cli.clock, signal: cli.signal, ...defined({ tokenFile }) };
  try {
    const { bytes, verified } = await fetchToFile(atOrigin, file, options);
    return { bytes, verified: verified === 'manifest' ? 'digest' : verified, server: '' };
  } catch {
    return undefined;
  }
}

function inOurWords(fault: Fault): Fault {
  if (fault.kind !== 'usage') return fault;
  return new Fault('usage', fault.message, { fix: 'choose another name, or say --overwrite', cause: fault });
}

function tell(
  cli: Cli,
  board: TransferBoard,
  { file, url, put, fault, isOld }: PutResult,
  { json }: Options,
): void {
  if (json) board.print(JSON.stringify({ file, url, ...put, error: fault && faultJson(fault) }));
  else if (fault !== undefined) tellFault(board, shown(cli, file), fault);
  else if (isOld && put !== undefined) board.print(`${url}: there already; ${verifiedWords(put.verified)}`);
  else if (put !== undefined)
    board.print(
      `${url}: ${amountWords(put.bytes, put.seconds)}; to ${put.server}; ${verifiedWords(put.verified)}`,
    );
}

const example = `
An object that exists is left alone unless --overwrite is said, and the same file sent again is no error; caches may go on handing out what they had under that
name, so a new name is better (\`updraft stage\` makes one). What arrived is compared with the file.

Examples:
  $ updraft put model.pt osdf:///inbox/me/model.pt
  $ updraft put --recursive results osdf:///inbox/me/results

Exit codes: 0 all is there; 2 wrong usage, or another object has the name; 93 to 95 token; else those of docs/exit-codes.md.`;

/** One file to upload and the object it becomes. */
interface PutItem {
  file: string;
  url: string;
}

/** Every file that is to be uploaded, and where to. */
async function listUploads(cli: Cli, words: readonly string[], recursive: boolean): Promise<PutItem[]> {
  const url = words.at(-1) ?? '';
  const names = words.slice(0, -1);
  if (names.length === 0 || !hasScheme(url))
    throw new Fault('usage', `"${url}" is no URL to upload to`, {
      about: url,
      fix: 'write the files first, then the URL: updraft put model.pt osdf:///PATH/model.pt',
    });
  const isFolder = names.length > 1 || (url.split('?', 1)[0] ?? '').endsWith('/');
  const items: PutItem[] = [];
  for (const name of names) {
    const file = path.resolve(cli.cwd, name);
    const to = isFolder ? below(url, path.basename(file)) : url;
    if (!(await isDirectory(file))) items.push({ file, url: to });
    else if (recursive) items.push(...(await filesBelow(file, to)));
    else
      throw new Fault('usage', `${name} is a folder`, {
        about: name,
        fix: 'say --recursive to upload all in it',
      });
  }
  return items;
}

async function filesBelow(folder: string, url: string): Promise<PutItem[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
  return files.map((name) => ({ file: path.join(folder, name), url: below(url, name) }));
}

async function isDirectory(file: string): Promise<boolean> {
  const info = await stat(file).catch((error: unknown) => {
    throw new Fault('file-invalid', `${file} cannot be read: ${(error as Error).message}`, {
      about: file,
      cause: error,
    });
  });
  return info.isDirectory();
}
