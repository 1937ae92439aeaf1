import type { Command } from 'commander';
import { defined, formatSize, pad, printable } from '@updraft/base';
import { type CollectionEntry, listCollection, walkCollection } from '@updraft/pelican/federation';
import type { Cli } from '../cli.ts';
import { openFederation } from '../object/access.ts';

interface Options {
  long?: true;
  recursive?: true;
  tokenFile?: string;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('<url>', 'a folder (collection) or an object')
    .option('-l, --long', 'show size and time')
    .option('-r, --recursive', 'list subfolders too')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print a line of JSON for each entry')
    .action((url: string, options: Options) => ls(cli, url, options));
}

async function ls(cli: Cli, url: string, options: Options): Promise<void> {
  const { tokenFile } = options;
  const how = { federation: openFederation(cli), signal: cli.signal, ...defined({ tokenFile }) };
  const entries = await (options.recursive ? walkCollection : listCollection)(url, how);
  for (const entry of entries) cli.out(`${options.json ? JSON.stringify(entry) : line(entry, options)}\n`);
  if (entries.length === 0) cli.err('the folder is empty\n');
}

function line({ name, isCollection, size, modified }: CollectionEntry, { long }: Options): string {
  const shown = `${printable(name)}${isCollection ? '/' : ''}`;
  if (!long) return shown;
  const time = modified === undefined ? '' : new Date(modified).toISOString().slice(0, 16).replace('T', ' ');
  return `${pad(size === undefined ? '-' : formatSize(size), 9, 'right')}  ${pad(time, 16)}  ${shown}`;
}
