import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import type { FederationLocator } from '../../federation/locator.ts';
import { type Put, putObject, statFile } from '../../transfer/put-object.ts';
import { fetchToFile } from '../../transfer/fetch-to-file.ts';
import type { Cli } from '../cli.ts';
import { below, hasScheme } from './access.ts';
import type { TransferBoard } from './board.ts';
import { faultJson, displayPath, printTransferFault } from './print-results.ts';
import { describeAmount, describeVerified } from './describe-transfer.ts';

/** One file to upload and the object it becomes. */
export interface PutItem {
  file: string;
  url: string;
}

/** The result for one file. */
export interface PutResult extends PutItem {
  put?: Put & { seconds: number };
  /** The same object was already there. */
  isOld?: true;
  fault?: Fault;
}

/** Uploads one file and shows it on the board; a failure is part of the result, so that the others continue. */
export async function putItem(
  cli: Cli,
  board: TransferBoard,
  item: PutItem,
  federation: FederationLocator,
  { overwrite, tokenFile }: { overwrite?: boolean; tokenFile?: string },
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
    const old = fault.kind === 'usage' ? await existingCopy(cli, item, federation, tokenFile) : undefined;
    if (old !== undefined) return { ...item, put: { ...old, seconds: seconds() }, isOld: true };
    return { ...item, fault: withOurFix(fault) };
  }
}

/** The origin's object, if it equals the file; comparing does not download it again. */
export async function existingCopy(
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

function withOurFix(fault: Fault): Fault {
  if (fault.kind !== 'usage') return fault;
  return new Fault('usage', fault.message, { fix: 'choose another name, or add --overwrite', cause: fault });
}

/** The result of one file: a line, or an object of JSON. */
export function printPut(
  cli: Cli,
  board: TransferBoard,
  { file, url, put, fault, isOld }: PutResult,
  { json }: { json?: boolean },
): void {
  if (json) board.print(JSON.stringify({ file, url, ...put, error: fault && faultJson(fault) }));
  else if (fault !== undefined) printTransferFault(board, displayPath(cli, file), fault);
  else if (isOld && put !== undefined)
    board.print(`${url}: already there; ${describeVerified(put.verified)}`);
  else if (put !== undefined)
    board.print(
      `${url}: ${describeAmount(put.bytes, put.seconds)}; to ${put.server}; ${describeVerified(put.verified)}`,
    );
}

/** Every file to upload, and its URL. */
export async function listUploads(
  cli: Cli,
  words: readonly string[],
  recursive: boolean,
): Promise<PutItem[]> {
  const url = words.at(-1) ?? '';
  const names = words.slice(0, -1);
  if (names.length === 0 || !hasScheme(url))
    throw new Fault('usage', `"${url}" is not a URL to upload to`, {
      about: url,
      fix: 'write the files first, then the URL: updraft put model.pt osdf:///PATH/model.pt',
    });
  const isFolder = names.length > 1 || (url.split('?', 1)[0] ?? '').endsWith('/');
  const items: PutItem[] = [];
  for (const name of names) {
    const file = path.resolve(cli.cwd, name);
    const to = isFolder ? below(url, path.basename(file)) : url;
    if (!(await statFile(file)).isDirectory()) items.push({ file, url: to });
    else if (recursive) items.push(...(await filesBelow(file, to)));
    else
      throw new Fault('usage', `${name} is a folder`, {
        about: name,
        fix: 'add --recursive to upload everything in it',
      });
  }
  return items;
}

async function filesBelow(folder: string, url: string): Promise<PutItem[]> {
  return (await walkFolder(folder)).map((name) => ({ file: path.join(folder, name), url: below(url, name) }));
}

/** Everything but folders below a folder, by relative path; links are not followed. */
export async function walkFolder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
}
