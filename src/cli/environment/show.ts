import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '../../base/shell-quote.ts';
import { textTable } from '../../base/text-table.ts';
import { describeEnvironment, type EnvironmentFacts } from '../../environment/describe-environment.ts';
import { describeLocked, type Workspace } from '../../environment/load-workspace.ts';
import { inspectPack } from '../../environment/pack-inspector.ts';
import { Fault } from '../../fault/fault.ts';
import { formatSize } from '../../job/units.ts';
import type { Cli } from '../cli.ts';
import { nextCommands } from '../text/next-commands.ts';
import { archiveText, factsText } from './facts-text.ts';
import { chosenWords, openWorkspace } from './workspace.ts';

interface Options {
  environment?: string;
  platform: string;
  json?: true;
}

export function configureShow(command: Command, cli: Cli): void {
  command
    .description('what is in an environment, and what it needs')
    .argument('[workspace]', 'a Pixi manifest, the folder that holds one, or an archive of pixi-pack', '.')
    .option('-e, --environment <name>', 'only this environment of the workspace')
    .option('-p, --platform <name>', 'platform of the workers', 'linux-64')
    .option('--json', 'print it as JSON')
    .addHelpText('after', example)
    .action((word: string, options: Options) => show(cli, word, options));
}

async function show(cli: Cli, word: string, options: Options): Promise<void> {
  const place = path.resolve(cli.cwd, word);
  const isFile = (await stat(place).catch(() => undefined))?.isFile() === true;
  const isLock = path.basename(place) === 'pixi.lock';
  if (isFile && !isLock && !place.endsWith('.toml')) {
    await showArchive(cli, word, options.json === true);
    return;
  }
  const workspace = await openWorkspace(cli, isLock ? path.dirname(place) : word);
  const chosen =
    options.environment === undefined
      ? lockedOn(workspace, options.platform)
      : [{ environment: options.environment, platform: options.platform }];
  if (chosen.length === 0) throw noneOn(workspace, options.platform);
  const facts = chosen.map(({ environment, platform }) => describeLocked(workspace, environment, platform));
  if (options.json) {
    cli.out(`${JSON.stringify(options.environment === undefined ? facts : facts[0], undefined, 2)}\n`);
    return;
  }
  const [only, second] = facts;
  cli.out(second === undefined && only !== undefined ? factsText(only) : overview(facts));
  if (only !== undefined) tellNext(cli, word, only, second !== undefined);
}

function tellNext(cli: Cli, word: string, first: EnvironmentFacts, areMore: boolean): void {
  const chosen = chosenWords(word, first);
  nextCommands(cli, [
    ...(areMore ? [[`updraft env show${chosen}`, 'all about one environment'] as const] : []),
    [`updraft env pack${chosen}`, 'make an archive of it that needs nothing of the worker'],
    [`updraft env image${chosen}`, 'write the recipe of an image of it'],
  ]);
}

/** Every environment on the platform of that name, and on all platforms of that subdir. */
const lockedOn = ({ lock }: Workspace, word: string): { environment: string; platform: string }[] =>
  [...lock.environments].flatMap(([environment, { platforms }]) =>
    platforms
      .filter(({ name, subdir }) => name === word || subdir === word)
      .map(({ name }) => ({ environment, platform: name })),
  );

function noneOn({ lock }: Workspace, platform: string): Fault {
  const known = new Set(
    [...lock.environments.values()].flatMap(({ platforms }) => platforms.map(({ name }) => name)),
  );
  return new Fault('file-invalid', `${lock.file}: no environment is locked for the platform "${platform}"`, {
    about: lock.file,
    fix: `it has ${[...known].join(', ') || 'none'}; add the platform to the manifest and run: updraft env lock`,
  });
}

function overview(facts: EnvironmentFacts[]): string {
  const rows = facts.map(({ environment, platform, subdir, python, torch, cuda, packages, bytes, hash }) => [
    platform === subdir ? environment : `${environment} (${platform})`,
    python ?? '-',
    torch === undefined ? '-' : torch.version,
    torch === undefined ? '-' : torch.build,
    cuda ?? '-',
    String(packages),
    formatSize(bytes),
    hash.slice(0, 8),
  ]);
  const columns = [
    { title: 'environment' },
    ...['python', 'pytorch', 'build', 'cuda'].map((title) => ({ title })),
    { title: 'packages', align: 'right' as const },
    { title: 'size', align: 'right' as const },
    { title: 'hash' },
  ];
  return `${textTable(columns, rows).join('\n')}\n`;
}

async function showArchive(cli: Cli, word: string, asJson: boolean): Promise<void> {
  const found = await inspectPack(path.resolve(cli.cwd, word), cli.signal);
  const { metadata, packages } = found;
  const platform = { name: metadata.platform, subdir: metadata.platform, virtual: [] };
  const { hash, ...facts } = describeEnvironment({ environment: word, platform, channels: [], packages });
  if (asJson) {
    cli.out(
      `${JSON.stringify({ ...found, packages: packages.map(({ url }) => url), facts }, undefined, 2)}\n`,
    );
    return;
  }
  cli.out(archiveText(word, found, { ...facts, hash }));
  nextCommands(cli, [
    [`updraft env stage ${shellQuote(word)} osdf:///…`, 'upload it under a name that holds its hash'],
  ]);
}

const example = `
Reads the manifest and its pixi.lock (versions 6 and 7); nothing is downloaded and pixi is not needed. Of an archive it
says whether it is whole, package by package.

Examples:
  $ updraft env show
  $ updraft env show -e gpu --json
  $ updraft env show environment-1a2b3c4d.sh

Exit codes: 0 shown; 3 the manifest or the lock is wrong, or they do not match; 104 it is no archive of pixi-pack that
could be used; 116 the archive is broken.`;
