import type { Command } from 'commander';
import { counted, defined, formatSize, mapLimited, printable, shellQuote } from '@updraft/base';
import { asFault, Fault, usageFault } from '@updraft/account/fault';
import {
  deleteObject,
  listCollection,
  type ObjectOptions,
  parseObjectUrl,
  unescapePath,
  walkCollection,
} from '@updraft/pelican/federation';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { hasScheme, statUrl } from '../../preflight/object-proof.ts';
import { openFederation } from '../object/access.ts';
import { confirmDeletion } from '../object/confirm-deletion.ts';
import { offerLogins } from '../object/offer-login.ts';
import { throwWorstFault, faultJson, printTransferFault } from '../object/print-results.ts';

interface Options {
  recursive?: true;
  yes?: true;
  dryRun?: true;
  tokenFile?: string;
  json?: true;
}

interface Target {
  url: string;
  isFolder: boolean;
  /** Every object to delete. */
  objects: { url: string; size?: number }[];
}

interface RmResult {
  url: string;
  fault?: Fault;
}

const maxParallel = 4;

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'objects.md', [
    'updraft rm osdf:///inbox/me/model.pt                   # one object',
    'updraft rm --recursive --dry-run osdf:///inbox/me/old  # what deleting a folder removes',
  ])
    .argument('<url...>', 'objects of a federation')
    .option('-r, --recursive', 'delete folders with all they hold')
    .option('-y, --yes', 'delete folders without confirmation')
    .option('--dry-run', 'show what would be deleted')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print a line of JSON for each object')
    .action((urls: string[], options: Options) => rm(cli, urls, options));
}

async function rm(cli: Cli, urls: string[], options: Options): Promise<void> {
  const { tokenFile, json } = options;
  const federation = openFederation(cli);
  await offerLogins(cli, federation, json ? [] : urls, { verb: 'DELETE', tokenFile });
  const how: ObjectOptions = { federation, signal: cli.signal, ...defined({ tokenFile }) };
  // All are checked before the first is deleted, so that a mistake in the last does no harm.
  const targets: Target[] = [];
  for (const url of urls) targets.push(await targetOf(cli, url, how, options.recursive === true));
  const objects = targets.flatMap((target) => target.objects);
  if (options.dryRun) {
    for (const { url } of objects) cli.out(json ? `${JSON.stringify({ url })}\n` : `${printable(url)}\n`);
    cli.err(`${counted(objects.length, 'object')} would be deleted; nothing was\n`);
    return;
  }
  for (const { url, objects: inside } of targets.filter(({ isFolder }) => isFolder)) {
    const bytes = inside.reduce((sum, { size = 0 }) => sum + size, 0);
    const what = `${counted(inside.length, 'object')} (${formatSize(bytes)}) below ${url}`;
    await confirmDeletion(cli, { what, names: inside.map((one) => one.url), yes: options.yes === true });
  }
  const results = await mapLimited(objects, maxParallel, async ({ url }): Promise<RmResult> => {
    const result = await attempt(url, () => deleteObject(url, how));
    report(cli, result, options);
    return result;
  });
  if (results.every(({ fault }) => fault === undefined))
    for (const { url } of targets.filter(({ isFolder }) => isFolder))
      results.push(await attempt(url, () => deleteFolder(url, how)));
  throwWorstFault(cli, results, {
    json: json === true,
    again: 'run the same command again for what is left',
  });
  if (json === undefined)
    cli.err(
      `${counted(objects.length, 'object')} deleted at the origin; caches may still serve their copies for a while\n`,
    );
}

/** What a URL of the command line means, or why it must not be deleted. */
async function targetOf(cli: Cli, url: string, how: ObjectOptions, recursive: boolean): Promise<Target> {
  const parsed = hasScheme(url) ? parseObjectUrl(url, cli.env) : undefined;
  if (parsed?.kind !== 'federated')
    throw usageFault(`${url} is not in a federation`, 'write osdf:///PATH', url);
  const located = await how.federation.locate(url, { ...how, verb: 'DELETE' });
  // A missing token is reported before any question.
  for (const server of located.servers.slice(0, 1)) await located.headers(server);
  const { namespace = '/' } = located;
  const path = unescapePath(parsed.path);
  if (`${namespace}/`.startsWith(`${path}/`))
    throw usageFault(
      `${url} is the root of the namespace ${namespace}: refusing to delete it`,
      `delete what is in it instead; to list it: updraft ls ${shellQuote(url)}`,
      url,
    );
  const known = await statUrl(url, how);
  // An origin deletes a folder with everything in it.
  if (known?.kind !== 'origin')
    throw new Fault(
      'servers-unreachable',
      `${url}: its origin does not say whether it is a folder: refusing to delete it`,
      {
        about: url,
        fix: 'wait and run it again; if the namespace cannot be listed, ask its operators to delete it',
      },
    );
  const { isCollection, size } = known;
  if (!isCollection) return { url, isFolder: false, objects: [{ url, ...defined({ size }) }] };
  if (!recursive && !parsed.recursive)
    throw usageFault(
      `${url} is a folder`,
      `to delete it with everything in it: updraft rm --recursive ${shellQuote(url)}`,
      url,
    );
  const objects = await walkCollection(url, how);
  return { url, isFolder: true, objects };
}

/** An origin deletes a folder with everything in it: what was added since the listing must stay. */
async function deleteFolder(url: string, how: ObjectOptions): Promise<void> {
  for (const entry of await listCollection(url, how))
    if (entry.isCollection) await deleteFolder(entry.url, how);
    else
      throw new Fault(
        'object-changed',
        `${url}: ${entry.name} was added after the folder was listed; not deleted`,
        { about: url, fix: 'check it, then run the same command again' },
      );
  await deleteObject(url, how);
}

async function attempt(url: string, action: () => Promise<unknown>): Promise<RmResult> {
  try {
    await action();
    return { url };
  } catch (error) {
    return { url, fault: asFault(error) };
  }
}

function report(cli: Cli, { url, fault }: RmResult, { json }: Options): void {
  if (json)
    cli.out(`${JSON.stringify({ url, deleted: fault === undefined, error: fault && faultJson(fault) })}\n`);
  else if (fault === undefined) cli.out(`${printable(url)}: deleted\n`);
  else printTransferFault({ say: (line) => cli.err(`${line}\n`) }, url, fault);
}
