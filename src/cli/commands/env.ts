import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { counted, findProgram, formatSize, shellQuote } from '@updraft/base';
import { textTable } from '@updraft/base/tables';
import { describeEnvironment, type EnvironmentFacts } from '../../environment/describe-environment.ts';
import { describeLocked, notLocked, type Workspace } from '../../environment/load-workspace.ts';
import { inspectPack } from '../../environment/pack-inspector.ts';
import { needProgram } from '../../environment/pixi-tools.ts';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { archiveText, factsText } from '../environment/facts-text.ts';
import { configureAgent, configureStage } from '../environment/stage.ts';
import { configureImage } from '../environment/image.ts';
import { configureMake } from '../environment/make.ts';
import { configurePack } from '../environment/pack.ts';
import { choiceArguments, manifestOf, openWorkspace, runTool } from '../environment/workspace.ts';
import { nextCommands, textWidth } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  configureMake(command.command('make'), cli, lock);
  configureShow(command.command('show'), cli);
  configureLock(command.command('lock'), cli);
  configurePack(command.command('pack'), cli);
  configureImage(command.command('image'), cli);
  configureStage(command.command('stage'), cli);
  configureAgent(command.command('agent'), cli);
}

function configureLock(command: Command, cli: Cli): void {
  command
    .argument('[workspace]', 'pixi.toml, pyproject.toml, or the folder of one', '.')
    .option('--check', 'only check that the lock file matches the manifest')
    .action((word: string, options: { check?: true }) =>
      options.check ? check(cli, word) : lock(cli, word),
    );
}

async function lock(cli: Cli, word: string): Promise<void> {
  const manifest = await manifestOf(cli, word);
  const pixi = await needProgram('pixi', 'locking', cli.env);
  await runTool(cli, pixi, ['lock', '--manifest-path', manifest]);
  await check(cli, word);
  const argument = word === '.' ? '' : ` ${shellQuote(word)}`;
  nextCommands(cli, [[`updraft env show${argument}`, 'what is in it now']]);
}

/** Every environment on every platform of the lock; where pixi is installed, it decides. */
async function check(cli: Cli, word: string): Promise<void> {
  const workspace = await openWorkspace(cli, word);
  const [missing] = notLocked(workspace.manifest, workspace.lock);
  if (missing !== undefined)
    throw new Fault(
      'file-invalid',
      `${workspace.lockFile} does not match ${workspace.manifestFile}: ${missing}`,
      { about: workspace.lockFile, fix: 'update the lock: updraft env lock' },
    );
  let checked = 0;
  for (const [name, { platforms }] of workspace.lock.environments)
    for (const platform of platforms) {
      describeLocked(workspace, name, platform.name);
      checked++;
    }
  const pixi = await findProgram(['pixi'], cli.env);
  const file = path.relative(cli.cwd, workspace.lockFile);
  const found = `${file}: version ${workspace.lock.version}, ${counted(checked, 'environment')} on their platforms`;
  if (pixi === undefined) {
    cli.out(`${found}; every required package is locked\n`);
    cli.err('pixi is not on the PATH: whether a new solve would give the same packages was not checked\n');
    return;
  }
  await askPixi(cli, pixi, workspace);
  cli.out(`${found}; pixi agrees\n`);
}

/**
 * Has pixi compare the lock with the manifest. Its own `lock --check` would rewrite the lock before it answers,
 * and rejects one of an older format; `list --locked` does neither.
 */
async function askPixi(cli: Cli, pixi: string, { lock, lockFile, manifestFile }: Workspace): Promise<void> {
  const places = [...lock.environments].flatMap(([name, { platforms }]) =>
    platforms.map((platform) => ['--environment', name, '--platform', platform.name]),
  );
  const words = ['list', '-v', '--json', '--locked', '--no-install', '--manifest-path', manifestFile];
  try {
    await runTool(cli, pixi, [...words, ...(places[0] ?? [])], { capture: true });
  } catch (thrown) {
    if (!(thrown instanceof Fault) || !/lock.?file not up-to-date/.test(thrown.message)) throw thrown;
    const said = thrown.cause instanceof Error ? thrown.cause.message : '';
    const why = /: (.* out of date because .*)$/m.exec(said)?.[1];
    const reason = why === undefined ? ', says pixi' : `, says pixi: ${why}`;
    throw new Fault('file-invalid', `${lockFile} does not match ${manifestFile}${reason}`, {
      about: lockFile,
      fix: 'update the lock: updraft env lock',
    });
  }
}

interface Options {
  environment?: string;
  platform: string;
  json?: true;
}

function configureShow(command: Command, cli: Cli): void {
  command
    .argument('[workspace]', 'a Pixi manifest, its folder, or a pixi-pack archive', '.')
    .option('-e, --environment <name>', 'show only this environment')
    .option('-p, --platform <name>', 'platform of the workers', 'linux-64')
    .option('--json', 'print JSON')
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
      ? lockedEnvironment(workspace, options.platform)
      : [{ environment: options.environment, platform: options.platform }];
  if (chosen.length === 0) throw noneForPlatform(workspace, options.platform);
  const facts = chosen.map(({ environment, platform }) => describeLocked(workspace, environment, platform));
  if (options.json) {
    cli.out(`${JSON.stringify(options.environment === undefined ? facts : facts[0], undefined, 2)}\n`);
    return;
  }
  const [only, second] = facts;
  cli.out(second === undefined && only !== undefined ? factsText(only, textWidth(cli)) : overview(facts));
  if (only !== undefined) printNext(cli, word, only, second !== undefined);
}

function printNext(cli: Cli, word: string, first: EnvironmentFacts, areMore: boolean): void {
  const chosen = choiceArguments(word, first);
  nextCommands(cli, [
    areMore && [`updraft env show${chosen}`, 'show one environment in full'],
    [`updraft env pack${chosen}`, 'make an archive that needs nothing on the worker'],
    [`updraft env image${chosen}`, 'write a definition file for an image of it'],
  ]);
}

/** Every environment on the platform of that name, and on all platforms of that subdir. */
const lockedEnvironment = ({ lock }: Workspace, word: string): { environment: string; platform: string }[] =>
  [...lock.environments].flatMap(([environment, { platforms }]) =>
    platforms
      .filter(({ name, subdir }) => name === word || subdir === word)
      .map(({ name }) => ({ environment, platform: name })),
  );

function noneForPlatform({ lock }: Workspace, platform: string): Fault {
  const known = new Set(
    [...lock.environments.values()].flatMap(({ platforms }) => platforms.map(({ name }) => name)),
  );
  return new Fault('file-invalid', `${lock.file}: no environment is locked for the platform "${platform}"`, {
    about: lock.file,
    fix: `choose one of ${[...known].join(', ') || 'none'}, or add the platform to the manifest and run: updraft env lock`,
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
  cli.out(archiveText(word, found, { ...facts, hash }, textWidth(cli)));
  nextCommands(cli, [
    [`updraft env stage ${shellQuote(word)} osdf:///…`, 'upload it under a name with its hash'],
  ]);
}
