import type { Command } from 'commander';
import { defined, formatDuration, formatSize } from '@updraft/base';
import { describeLeftOut, describePreference } from '../../codes/describe-caches.ts';
import {
  type LeftOut,
  type Located,
  type ObjectInfo,
  type ObjectOptions,
  type ServerView,
  statObject,
  viewServer,
} from '@updraft/pelican/federation';
import type { Cli } from '../cli.ts';
import { cacheOptions, type CacheOptions } from '../object/cache-options.ts';
import { openFederation } from '../object/access.ts';

interface Options extends CacheOptions {
  digest?: true;
  tokenFile?: string;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
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
  if (json) {
    const age = info.age ?? servers.find((view) => view.age !== undefined)?.age;
    const modified = info.modified === undefined ? undefined : new Date(info.modified).toISOString();
    const shown = servers.map(({ server: { host, kind, preferredBy }, ...view }) => ({
      server: host,
      kind,
      ...view,
      preferredBy,
    }));
    cli.out(
      `${JSON.stringify({ ...info, age, modified, namespace, requireToken, servers: shown, leftOut })}\n`,
    );
    return;
  }
  const lines = [
    ...objectLines(info),
    ...namespaceLines(located),
    ...servers.map(serverLine),
    ...(leftOut ?? []).map(leftOutLine),
  ];
  cli.out(lines.map(([name, value]) => `${name.padEnd(10)} ${value}\n`).join(''));
}

async function viewServers(
  url: string,
  how: ObjectOptions,
): Promise<{ located: Located; views: ServerView[] }> {
  const located = await how.federation.locate(url, how);
  return { located, views: await Promise.all(located.servers.map((one) => viewServer(located, one, how))) };
}

type Line = [name: string, value: string];

function objectLines({ url, isCollection, size, etag, modified, digests }: ObjectInfo): Line[] {
  const lines: (Line | undefined)[] = [
    ['url', url],
    ['kind', isCollection ? 'folder' : 'object'],
    size === undefined ? undefined : ['size', `${size} (${formatSize(size)})`],
    modified === undefined ? undefined : ['modified', new Date(modified).toISOString()],
    etag === undefined ? undefined : ['etag', etag],
  ];
  const known = Object.entries(digests).map(([name, hex]): Line => [name, hex]);
  return [...lines.filter((line) => line !== undefined), ...known];
}

function namespaceLines({ namespace, requireToken }: Located): Line[] {
  const token: Line = ['token', requireToken ? 'needed' : 'not needed'];
  return namespace === undefined ? [token] : [['namespace', namespace], token];
}

function serverLine({ server: { host, kind, preferredBy }, ...view }: ServerView): Line {
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

const leftOutLine = (one: LeftOut): Line => ['not asked', `${one.server}  ${describeLeftOut(one)}`];
