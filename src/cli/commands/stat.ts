import type { Command } from 'commander';
import { defined, formatDuration, formatSize, pad, printable } from '@updraft/base';
import { describeLeftOut, describePreference } from '@updraft/account/codes';
import {
  type CollectionEntry,
  listCollection,
  type Located,
  type ObjectOptions,
  type ServerView,
  statObject,
  viewServer,
  walkCollection,
} from '@updraft/pelican/federation';
import type { Fact } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { cacheOptions, type CacheOptions } from '../object/cache-options.ts';
import { openFederation } from '../object/access.ts';
import { printPage } from '../text/phrases.ts';

interface Options extends CacheOptions {
  digest?: true;
  tokenFile?: string;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'objects.md', [
    'updraft stat osdf:///demo/train.tar                  # size, time, and the servers that have it',
    'updraft stat --digest --json osdf:///demo/train.tar  # with its digests, as JSON',
  ]);
  cacheOptions(command)
    .argument('<url>', 'an object or a folder')
    .option('--digest', 'ask for digests (a server may have to read it all)')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print JSON')
    .action((url: string, options: Options) => stat(cli, url, options));
}

async function stat(cli: Cli, url: string, { digest, tokenFile, json, ...caches }: Options): Promise<void> {
  const federation = openFederation(cli, caches);
  const enough = new AbortController();
  const signal = AbortSignal.any([cli.signal, enough.signal]);
  const how: ObjectOptions = { federation, signal, ...defined({ tokenFile }) };
  // In parallel: each is a separate connection.
  const [info, { located, views }] = await Promise.all([
    statObject(url, { ...how, digest: digest === true }),
    viewServers(url, how),
  ]).finally(() => enough.abort());
  const servers = info.isCollection ? [] : views;
  const { namespace, requireToken, leftOut } = located;
  const age = info.age ?? servers.find((view) => view.age !== undefined)?.age;
  const modified = info.modified === undefined ? undefined : new Date(info.modified).toISOString();
  const shown = servers.map(({ server: { host, kind, preferredBy }, ...view }) => ({
    server: host,
    kind,
    ...view,
    preferredBy,
  }));
  const data = { ...info, age, modified, namespace, requireToken, servers: shown, leftOut };
  const size = info.size === undefined ? undefined : `${info.size} (${formatSize(info.size)})`;
  const known = defined({ size, modified, etag: info.etag, ...info.digests, namespace });
  const facts: Fact[] = [
    ['url', info.url],
    ['kind', info.isCollection ? 'folder' : 'object'],
    ...Object.entries(known),
    ['token', requireToken ? 'needed' : 'not needed'],
    ...servers.map(serverFact),
    ...(leftOut ?? []).map((one): Fact => ['not asked', `${one.server}  ${describeLeftOut(one)}`]),
  ];
  printPage(cli, [{ facts, indent: '' }], [], json && data);
}

async function viewServers(
  url: string,
  how: ObjectOptions,
): Promise<{ located: Located; views: ServerView[] }> {
  const located = await how.federation.locate(url, how);
  return { located, views: await Promise.all(located.servers.map((one) => viewServer(located, one, how))) };
}

function serverFact({ server: { host, kind, preferredBy }, ...view }: ServerView): Fact {
  if (host === 'localhost') return [kind, 'this machine'];
  const preferred = preferredBy === undefined ? '' : `; ${describePreference(preferredBy)}`;
  return [kind, `${host}  ${describeCopy(view)}${preferred}`];
}

function describeCopy({ status, holds, bytes, age = 0 }: Omit<ServerView, 'server'>): string {
  if (status === undefined) return 'no answer';
  if (holds === 'none') return 'not cached yet';
  if (holds === 'part') return 'has part of it';
  if (status !== 200) return `answers with status ${status}`;
  const has = bytes === undefined ? 'has it' : `has ${formatSize(bytes)}`;
  return age === 0 ? has : `${has}, cached for ${formatDuration(age)}`;
}

interface ListOptions {
  long?: true;
  recursive?: true;
  tokenFile?: string;
  json?: true;
}

/** `updraft ls`. */
export function configureList(command: Command, cli: Cli): void {
  addHelp(command, 'objects.md', [
    'updraft ls osdf:///demo                        # names only',
    'updraft ls -l --recursive osdf:///demo/images  # sizes and times, with subfolders',
  ])
    .argument('<url>', 'a folder (collection) or an object')
    .option('-l, --long', 'show size and time')
    .option('-r, --recursive', 'list subfolders too')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print a line of JSON for each entry')
    .action((url: string, options: ListOptions) => ls(cli, url, options));
}

async function ls(cli: Cli, url: string, options: ListOptions): Promise<void> {
  const { tokenFile } = options;
  const how = { federation: openFederation(cli), signal: cli.signal, ...defined({ tokenFile }) };
  const entries = await (options.recursive ? walkCollection : listCollection)(url, how);
  for (const entry of entries)
    cli.out(`${options.json ? JSON.stringify(entry) : listLine(entry, options)}\n`);
  if (entries.length === 0) cli.err('the folder is empty\n');
}

function listLine({ name, isCollection, size, modified }: CollectionEntry, { long }: ListOptions): string {
  const shown = `${printable(name)}${isCollection ? '/' : ''}`;
  if (!long) return shown;
  const time = modified === undefined ? '' : new Date(modified).toISOString().slice(0, 16).replace('T', ' ');
  return `${pad(size === undefined ? '-' : formatSize(size), 9, 'right')}  ${pad(time, 16)}  ${shown}`;
}
