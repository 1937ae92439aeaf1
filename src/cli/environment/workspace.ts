import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rename, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import {
  counted,
  type Env,
  findProgram,
  formatSize,
  informativeLine,
  shellQuote,
  given,
} from '@updraft/base';
import { removeTree, replaceFile, sha256Of } from '@updraft/base/disk';
import {
  describeLocked,
  findManifest,
  loadWorkspace,
  type Workspace,
} from '../../environment/load-workspace.ts';
import { condaFile, type LockedPackage, type LockedSet, selectLocked } from '../../environment/pixi-lock.ts';
import { archiveInstalled } from '../../environment/installed-pack.ts';
import {
  type InspectedPack,
  inspectPack,
  brokenPack,
  checkPlatform,
  condaPlatform,
} from '../../environment/pack-splitter.ts';
import { hashName, needProgram, onePlatformLock, refuseSources } from '../../environment/pixi-tools.ts';
import { Fault, usageFault } from '@updraft/account/fault';
import type { Cli } from '../cli.ts';
import { addHelp, describe } from '../help.ts';
import { printJson, nextCommands } from '../text/phrases.ts';
import { describeSize } from './facts-text.ts';

/** The options that select one environment. */
export interface Choice {
  environment: string;
  platform: string;
}

export function addChoiceOptions(command: Command): Command {
  return command
    .argument('[workspace]', 'pixi.toml, pyproject.toml, or the folder of one', '.')
    .option('-e, --environment <name>', 'which environment', 'default')
    .option('-p, --platform <name>', 'platform of the workers', defaultPlatform);
}

const defaultPlatform = 'linux-64';

/** The arguments that select the same environment in another command. */
export function choiceArguments(workspace: string, { environment, platform }: Choice): string {
  const argument = workspace === '.' ? '' : ` ${shellQuote(workspace)}`;
  const other = platform === defaultPlatform ? '' : ` -p ${shellQuote(platform)}`;
  return `${argument} -e ${shellQuote(environment)}${other}`;
}

/** The manifest that an argument names, as the user would write it. */
export async function manifestOf(cli: Cli, word: string): Promise<string> {
  const file = await findManifest(path.resolve(cli.cwd, word));
  const short = path.relative(cli.cwd, file);
  return short.startsWith('..') ? file : short;
}

/** A file name for an environment; names in a manifest may contain anything. */
export const fileStem = ({ manifest }: Workspace, environment: string): string =>
  `${manifest.name ?? 'environment'}-${environment}`.replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '');

/** Reads a workspace, with paths as the user would write them. */
export async function openWorkspace(cli: Cli, word: string): Promise<Workspace> {
  return await loadWorkspace(await findManifest(path.resolve(cli.cwd, word)));
}

/** The job-file lines for an archive that needs a program to unpack it. */
export const unpackerLines = (archive: string): string[] =>
  archive.endsWith('.tar')
    ? ['pixi_unpack = "pixi-unpack"   # a copy of the program beside the job file']
    : [];

/** `[environment]` of a job file in this folder: it names the workspace, whose lock decides what the job needs. */
export function environmentLines(
  cli: Cli,
  { manifestFile }: Workspace,
  choice: Choice,
  more: string[],
): string {
  const manifest = path.relative(cli.cwd, manifestFile);
  const named = given(
    `pixi = ${JSON.stringify(manifest)}`,
    choice.environment !== 'default' && `pixi_environment = ${JSON.stringify(choice.environment)}`,
    choice.platform !== defaultPlatform && `platform = ${JSON.stringify(choice.platform)}`,
  );
  return ['[environment]', ...(manifest.startsWith('..') ? [] : named), ...more, ''].join('\n');
}

/** Writes a file, unless it is there with this text; one with another text stays, unless there is no `fix`. */
export async function writeNew(cli: Cli, file: string, text: string, fix: string | undefined): Promise<void> {
  const present = await readFile(file, 'utf8').catch(() => undefined);
  const shown = path.relative(cli.cwd, file);
  if (present === text) return;
  if (present !== undefined && fix !== undefined)
    throw usageFault(`${shown} already exists and differs`, fix, file);
  await (fix === undefined ? replaceFile(file, text) : writeFile(file, text, { flag: 'wx' }));
  cli.err(`wrote ${shown}\n`);
}

const maxOutputChars = 16_000;

/** Runs a program and shows its output; on failure throws with the most informative line of it. */
export async function runTool(
  cli: Cli,
  program: string,
  words: string[],
  { cwd = cli.cwd, fix = 'see its output above', env = {} }: { cwd?: string; fix?: string; env?: Env } = {},
): Promise<void> {
  cli.err(`$ ${[path.basename(program), ...words].map(shellQuote).join(' ')}\n`);
  const child = spawn(program, words, {
    cwd,
    env: { ...cli.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: cli.signal,
    killSignal: 'SIGTERM',
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-maxOutputChars);
      cli.err(text);
    });
  const [status] = await once(child, 'close').catch((error: unknown) => {
    cli.signal.throwIfAborted();
    said = (error as Error).message;
    return [null];
  });
  if (status === 0) return;
  throw new Fault('environment-broken', `${path.basename(program)} failed: ${informativeLine(said)}`, {
    about: program,
    cause: new Error(said),
    fix,
  });
}

interface PackOptions extends Choice {
  outputFolder: string;
  tar?: true;
  installed?: true;
  json?: true;
}

export function configurePack(command: Command, cli: Cli): void {
  addHelp(
    describe(command, 'pack an environment for workers without Pixi or containers'),
    'guides/pixi-pack.md',
    [
      'updraft env pack -e gpu        # a self-extracting script',
      'updraft env pack -e gpu --tar  # a tar for pixi-unpack',
    ],
  );
  addChoiceOptions(command)
    .option('-o, --output-folder <folder>', 'where to write the archive', '.')
    .option('--tar', 'write a tar for pixi-unpack, not a script')
    .option('--installed', 'write the installed environment, which jobs unpack as it arrives')
    .option('--json', 'print JSON')
    .action((word: string, options: PackOptions) => packWorkspace(cli, word, options));
}

export async function packWorkspace(cli: Cli, word: string, options: PackOptions): Promise<void> {
  const workspace = await openWorkspace(cli, word);
  const facts = describeLocked(workspace, options.environment, options.platform);
  const locked = selectLocked(workspace.lock, options.environment, options.platform);
  refuseSources(locked, 'pack', workspace.lockFile);
  if (options.installed)
    checkPlatform({ platform: facts.subdir }, condaPlatform(os.arch()), 'the environment');
  const [program, ...leading] = await packProgram(cli, 'pixi-pack');
  cli.err(`packing ${options.environment} for ${options.platform}: ${describeSize(facts)}\n`);
  const folder = path.resolve(cli.cwd, options.outputFolder);
  const draft = await mkdtemp(path.join(folder, '.updraft-pack-'));
  try {
    const isTar = options.tar ?? options.installed;
    const ending = isTar ? 'tar' : 'sh';
    const output = path.join(draft, `${fileStem(workspace, options.environment)}.${ending}`);
    const words = [
      ...['--environment', options.environment, '--platform', facts.subdir, '--output-file', output],
      ...(isTar ? [] : ['--create-executable']),
      await unambiguous(workspace, locked, draft),
    ];
    await runTool(cli, program, [...leading, ...words], {
      fix: 'see its output above; before 0.7 pixi-pack had other arguments: pixi global update pixi-pack',
    });
    const found = await inspectPack(output, cli.signal);
    checkContent(found, locked, path.basename(output));
    const made = options.installed ? await installPack(cli, output, facts.subdir) : { ...found, output };
    const file = path.join(folder, hashName(made.output, made.sha256));
    await rename(made.output, file);
    const shown = path.relative(cli.cwd, file);
    const lines = environmentLines(cli, workspace, options, unpackerLines(shown));
    printPack(cli, shown, lines, { ...found, ...made, ...options });
  } finally {
    await removeTree(draft);
  }
}

/** Strings in programs only become shorter: the folder here has a longer path than any on a worker. */
const longPath = 240;

/** Installs the environment of a tar beside it; returns the archive of what was installed. */
async function installPack(
  cli: Cli,
  tar: string,
  platform: string,
): Promise<{ output: string; bytes: number; sha256: string }> {
  const draft = path.dirname(tar);
  const folder = path.join(draft, 'installed'.padEnd(longPath - draft.length - 1, '_').slice(0, 255));
  await mkdir(folder);
  const [program, ...leading] = await packProgram(cli, 'pixi-unpack');
  await runTool(cli, program, [...leading, '-o', folder, tar], { env: { TMPDIR: draft } });
  const output = `${tar}.zst`;
  cli.err('compressing what was installed\n');
  await archiveInstalled(folder, platform, output, cli.signal);
  return { output, bytes: (await stat(output)).size, sha256: await sha256Of(output) };
}

/** A manifest for this platform only: the workspace's, or a copy beside a lock without the others. */
async function unambiguous(
  { manifestFile, lockFile, lock }: Workspace,
  { environment, platform }: LockedSet,
  draft: string,
): Promise<string> {
  const all = lock.environments.get(environment)?.platforms ?? [];
  if (all.filter(({ subdir }) => subdir === platform.subdir).length < 2) return manifestFile;
  const copy = path.join(draft, path.basename(manifestFile));
  await copyFile(manifestFile, copy);
  const text = onePlatformLock(await readFile(lockFile, 'utf8'), environment, platform);
  await writeFile(path.join(draft, 'pixi.lock'), text);
  return copy;
}

/** Packages that differ from the lock's would only show in the training. */
function checkContent(
  { packages }: InspectedPack,
  { environment, platform, packages: locked }: LockedSet,
  name: string,
): void {
  const keyOf = ({ kind, url, name: known, version }: LockedPackage): string =>
    kind === 'conda' ? condaFile(url) : `${known} ${version}`;
  const [wanted, got] = [new Set(locked.map(keyOf)), new Set(packages.map(keyOf))];
  const [missing] = wanted.difference(got);
  const [extra] = got.difference(wanted);
  if (missing === undefined && extra === undefined) return;
  const what =
    missing === undefined ? `${extra ?? ''} is in it but not locked` : `${missing} is locked but not in it`;
  throw brokenPack(
    name,
    `it is not "${environment}" on ${platform.name}: ${what}`,
    'update pixi-pack, or report this',
  );
}

/** The program itself, or pixi, which can fetch and run it. */
async function packProgram(cli: Cli, name: 'pixi-pack' | 'pixi-unpack'): Promise<[string, ...string[]]> {
  const own = await findProgram([name], cli.env);
  if (own !== undefined) return [own];
  const pixi = await findProgram(['pixi'], cli.env);
  return pixi === undefined ? [await needProgram(name, 'packing', cli.env)] : [pixi, 'exec', name];
}

function printPack(
  cli: Cli,
  file: string,
  lines: string,
  { bytes, sha256, packages, json }: InspectedPack & { json?: true },
): void {
  if (json) {
    printJson(cli, { file, bytes, sha256, packages: packages.length });
    return;
  }
  cli.err(`${file}: ${counted(packages.length, 'package')}, ${formatSize(bytes)}, verified\n`);
  cli.out(`${lines}\n[environment.pack]\nurl = ${JSON.stringify(file)}\nsha256 = "${sha256}"\n`);
  nextCommands(cli, [
    [
      `updraft env stage ${shellQuote(file)} osdf:///…`,
      'upload it: it is too large to send from the access point',
    ],
    ['updraft check', 'check the job file with the lines above'],
  ]);
}
