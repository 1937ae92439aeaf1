import { copyFile, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { counted, findProgram, formatSize, shellQuote } from '@updraft/base';
import { removeTree } from '@updraft/base/disk';
import { describeLocked, type Workspace } from '../../environment/load-workspace.ts';
import { condaFile, type LockedPackage, type LockedSet, selectLocked } from '../../environment/pixi-lock.ts';
import { type InspectedPack, inspectPack, brokenPack } from '../../environment/pack-splitter.ts';
import {
  hashName,
  needProgram,
  onePlatformLock,
  packArgs,
  refuseSources,
} from '../../environment/pixi-tools.ts';
import { Fault } from '@updraft/account/fault';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { printJson, nextCommands } from '../text/phrases.ts';
import { describeSize } from './facts-text.ts';
import {
  type Choice,
  environmentLines,
  fileStem,
  openWorkspace,
  runTool,
  unpackerLines,
  addChoiceOptions,
} from './workspace.ts';

interface Options extends Choice {
  outputFolder: string;
  tar?: true;
  pixiUnpack?: string;
  json?: true;
}

export function configurePack(command: Command, cli: Cli): void {
  addHelp(command, {
    what: 'pack an environment for workers without Pixi or containers',
    page: 'guides/pixi-pack.md',
    examples: [
      ['updraft env pack -e gpu', 'a self-extracting script'],
      ['updraft env pack -e gpu --tar', 'a tar for pixi-unpack'],
    ],
  });
  addChoiceOptions(command)
    .option('-o, --output-folder <folder>', 'where to write the archive', '.')
    .option('--tar', 'write a tar for pixi-unpack, not a script')
    .option('--pixi-unpack <file>', 'embed this pixi-unpack in the script')
    .option('--json', 'print JSON')
    .action((word: string, options: Options) => packWorkspace(cli, word, options));
}

export async function packWorkspace(cli: Cli, word: string, options: Options): Promise<void> {
  const workspace = await openWorkspace(cli, word);
  const facts = describeLocked(workspace, options.environment, options.platform);
  const locked = selectLocked(workspace.lock, options.environment, options.platform);
  refuseSources(locked, 'pack', workspace.lockFile);
  const [program, ...leading] = await packProgram(cli);
  cli.err(`packing ${options.environment} for ${options.platform}: ${describeSize(facts)}\n`);
  const folder = path.resolve(cli.cwd, options.outputFolder);
  const draft = await mkdtemp(path.join(folder, '.updraft-pack-'));
  try {
    const ending = options.tar ? 'tar' : 'sh';
    const output = path.join(draft, `${fileStem(workspace, options.environment)}.${ending}`);
    const version = await versionOf(cli, program, leading);
    const words = packArgs(version, {
      ...options,
      platform: facts.subdir,
      manifest: await unambiguous(workspace, locked, draft),
      output,
      executable: options.tar !== true,
      ...(options.pixiUnpack === undefined
        ? {}
        : { unpackSource: path.resolve(cli.cwd, options.pixiUnpack) }),
    });
    await runTool(cli, program, [...leading, ...words]);
    const found = await inspectPack(output, cli.signal);
    checkContent(found, locked, path.basename(output));
    const file = path.join(folder, hashName(output, found.sha256));
    await rename(output, file);
    const shown = path.relative(cli.cwd, file);
    const lines = environmentLines(cli, workspace, options, unpackerLines(shown));
    printPack(cli, shown, lines, { ...found, ...options });
  } finally {
    await removeTree(draft);
  }
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

/** pixi-pack itself, or pixi, which can fetch and run it. */
async function packProgram(cli: Cli): Promise<[string, ...string[]]> {
  const own = await findProgram(['pixi-pack'], cli.env);
  if (own !== undefined) return [own];
  const pixi = await findProgram(['pixi'], cli.env);
  return pixi === undefined
    ? [await needProgram('pixi-pack', 'packing', cli.env)]
    : [pixi, 'exec', 'pixi-pack'];
}

async function versionOf(cli: Cli, program: string, leading: string[]): Promise<string> {
  try {
    return await runTool(cli, program, [...leading, '--version'], { capture: true });
  } catch (thrown) {
    if (!(thrown instanceof Fault) || leading.length === 0) throw thrown;
    throw new Fault('environment-broken', `${thrown.message} (while fetching pixi-pack)`, {
      about: program,
      fix: 'install pixi-pack on the PATH: its channel may not be reachable from here',
    });
  }
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
