import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import os from 'node:os';
import type { Command } from 'commander';
import { formatSize, shellQuote } from '@updraft/base';
import type { Document } from '@updraft/view/document';
import { replaceFile, sha256Of } from '@updraft/base/disk';
import { countArchiveFiles } from '@updraft/archive';
import type { EnvironmentFacts } from '../../environment/describe-environment.ts';
import { describeLocked, lockName, type Workspace } from '../../environment/load-workspace.ts';
import { isInstalledPack } from '../../environment/installed-pack.ts';
import { inspectPack } from '../../environment/pack-splitter.ts';
import { hashName, needProgram, refuseSources } from '../../environment/pixi-tools.ts';
import { Fault, usageFault } from '@updraft/account/fault';
import { describeFile, singleFile } from '../../stage/shards.ts';
import type { StagedObject } from '../../stage/staged-record.ts';
import { agentName } from '../../job/installation.ts';
import { findAgent, packAgent, unpackedAgent } from '../../pool/find-agent.ts';
import {
  environmentsOf,
  findSoftware,
  readSoftware,
  renderManifest,
  type SoftwareSource,
  sourceOf,
} from '../../environment/wanted-software.ts';
import { agentFolder, apptainerDefinition, dockerfile } from '../../environment/image-recipe.ts';
import { lockedVirtual, selectLocked } from '../../environment/pixi-lock.ts';
import { declaredCuda } from '../../environment/read-manifest.ts';
import type { Cli } from '../cli.ts';
import { addHelp, describe, subcommand } from '../help.ts';
import { environmentPage } from '../environment/facts-text.ts';
import {
  addChoiceOptions,
  type Choice,
  choiceArguments,
  configurePack,
  environmentLines,
  fileStem,
  manifestOf,
  openWorkspace,
  packWorkspace,
  runTool,
  unpackerLines,
  writeNew,
} from '../environment/workspace.ts';
import { type NextCommand, nextCommands, printPage } from '../text/phrases.ts';
import { manifestSuffix } from '../../preflight/object-proof.ts';
import { below, type ObjectFlags } from '../object/access.ts';
import { checkFederated, stageAll } from '../object/stage-object.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'environments.md', [
    'updraft env show         # packages, size and needs',
    'updraft env pack -e gpu  # an archive for the workers',
  ]);
  configureMake(command, cli);
  configureShow(command, cli);
  configureLock(command, cli);
  configurePack(command.command('pack'), cli);
  configureImage(command.command('image'), cli);
  configureStage(command, cli);
  configureAgent(command.command('agent'), cli);
}

function configureLock(command: Command, cli: Cli): void {
  subcommand(command, 'lock', 'update the lock file of a workspace', [
    'updraft env lock           # update pixi.lock',
    'updraft env lock training  # the workspace in another folder',
  ])
    .argument('[workspace]', 'pixi.toml, pyproject.toml, or the folder of one', '.')
    .action((word: string) => lock(cli, word));
}

async function lock(cli: Cli, word: string): Promise<void> {
  const manifest = await manifestOf(cli, word);
  const pixi = await needProgram('pixi', 'locking', cli.env);
  await runTool(cli, pixi, ['lock', '--manifest-path', manifest]);
  const argument = word === '.' ? '' : ` ${shellQuote(word)}`;
  nextCommands(cli, [[`updraft env show${argument}`, 'what is in it now']]);
}

interface Options {
  environment?: string;
  platform: string;
  json?: true;
}

function configureShow(command: Command, cli: Cli): void {
  subcommand(command, 'show', 'show what an environment contains and needs', [
    'updraft env show -e gpu         # one environment of the workspace here',
    'updraft env show -e gpu --json  # the same for a program',
  ])
    .argument('[workspace]', 'pixi.toml, pyproject.toml, pixi.lock, or the folder of one', '.')
    .option('-e, --environment <name>', 'show only this environment')
    .option('-p, --platform <name>', 'platform of the workers', 'linux-64')
    .option('--json', 'print JSON')
    .action((word: string, options: Options) => show(cli, word, options));
}

async function show(cli: Cli, word: string, options: Options): Promise<void> {
  const isLock = path.basename(word) === 'pixi.lock';
  if (!isLock && /\.(sh|tar)$/.test(word))
    throw usageFault(
      `${word} is an archive: env show reads the workspace that it was made from`,
      'name the workspace; `updraft env stage` and each job verify an archive, package by package',
      word,
    );
  const workspace = await openWorkspace(cli, isLock ? path.dirname(word) : word);
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
  const page = second === undefined && only !== undefined ? environmentPage(only) : overview(facts);
  printPage(cli, page, only && nextFor(word, only, second !== undefined));
}

function nextFor(word: string, first: EnvironmentFacts, areMore: boolean): NextCommand[] {
  const chosen = choiceArguments(word, first);
  return [
    areMore && [`updraft env show${chosen}`, 'show one environment in full'],
    [`updraft env pack${chosen}`, 'make an archive that needs nothing on the worker'],
    [`updraft env image${chosen}`, 'write a definition file for an image of it'],
  ];
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
    fix:
      `choose one of ${[...known].join(', ') || 'none'}, or add the platform to the manifest and run: ` +
      'updraft env lock',
  });
}

function overview(facts: EnvironmentFacts[]): Document {
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
  return [{ columns, rows }];
}

function configureStage(command: Command, cli: Cli): void {
  subcommand(command, 'stage', 'upload an archive or image under a name with its hash', [
    'updraft env stage gpu-1a2b3c4d.sh osdf:///inbox/me/environments  # an archive made by pixi-pack',
    'updraft env stage gpu.sif osdf:///inbox/me/images                # an Apptainer image',
  ])
    .argument('<file>', 'a pack (.sh, .tar, .tar.zst) or an image (.sif)')
    .argument('<url>', 'the folder to upload to')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print JSON')
    .option('-q, --quiet', 'show no progress')
    .action((file: string, url: string, options: ObjectFlags) => stage(cli, file, url, options));
}

async function stage(cli: Cli, word: string, url: string, options: ObjectFlags): Promise<void> {
  checkFederated(cli, url);
  const file = path.resolve(cli.cwd, word);
  if ((await stat(file).catch(() => undefined))?.isDirectory() === true)
    throw new Fault('file-invalid', `${word} is a folder, but an object is one file`, {
      about: file,
      fix:
        'to make an image of an Apptainer sandbox: apptainer build ' +
        `${shellQuote(`${path.basename(file)}.sif`)} ${shellQuote(word)}`,
    });
  const described = describeFile(file, path.basename(file));
  const isImage = /\.(sif|img|sqsh|squashfs)$/i.test(file);
  // A broken archive is found here, not by a hundred workers.
  if (isInstalledPack(file))
    await countArchiveFiles(createReadStream(file), { name: word, mode: 'tar.zst' }, () => false);
  else if (!isImage) await inspectPack(file, cli.signal);
  const { tokenFile, json } = options;
  const nameOf = (_: number, sha8: string): string => hashName(file, sha8);
  const report = ({ name, sha256, bytes }: StagedObject): string => {
    const place = below(url, name);
    const staged = { url: place, sha256, bytes, manifest: `${place}${manifestSuffix}` };
    return json ? JSON.stringify(staged) : isImage ? imageLines(place) : packLines(staged);
  };
  const shards = [singleFile(described)];
  await stageAll(cli, { source: file, url, tokenFile, nameOf, asItIs: true }, shards, { ...options, report });
  if (json === undefined) nextCommands(cli, [['updraft check', 'check updraft.toml with the lines above']]);
}

const imageLines = (url: string): string => `[environment]\nimage = ${JSON.stringify(url)}\n`;

/** Strings and numbers look the same in TOML and JSON. */
function packLines(pack: { url: string; sha256: string; bytes: number; manifest: string }): string {
  const unpacker = unpackerLines(pack.url);
  return [
    ...(unpacker.length === 0 ? [] : ['[environment]', ...unpacker, '']),
    '[environment.pack]',
    ...Object.entries(pack).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
    '',
  ].join('\n');
}

const agentLines = (place: string): string => `[pool]\nagent = ${JSON.stringify(place)}\n`;

interface AgentOptions extends ObjectFlags {
  arch: string;
}

function configureAgent(command: Command, cli: Cli): void {
  addHelp(describe(command, 'upload the agent, so that workers fetch it through caches'), 'agent.md', [
    'updraft env agent osdf:///inbox/me/agents               # prints the line for the job file',
    'updraft env agent --arch arm64 osdf:///inbox/me/agents  # for ARM machines',
  ])
    .argument('<url>', 'the folder to upload to')
    .option('--arch <name>', 'architecture of the workers: x64 or arm64', os.arch())
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print JSON')
    .option('-q, --quiet', 'show no progress')
    .action((url: string, options: AgentOptions) => stageAgent(cli, url, options));
}

/** Uploads the agent under its hash: another version is another object, and runs under way keep theirs. */
async function stageAgent(cli: Cli, url: string, options: AgentOptions): Promise<void> {
  checkFederated(cli, url);
  const file = await packAgent(await findAgent(cli, options.arch), cli.env);
  const sha256 = await sha256Of(file);
  const name = `${agentName}-${cli.version}-linux-${options.arch}-${sha256}.gz`;
  const described = describeFile(file, name);
  const place = below(url, name);
  const report = (): string =>
    options.json ? JSON.stringify({ url: place, sha256, bytes: described.bytes }) : agentLines(place);
  const request = { source: file, url, tokenFile: options.tokenFile, nameOf: () => name, asItIs: true };
  const shards = [singleFile(described)];
  await stageAll(cli, request, shards, { ...options, report });
  if (options.json === undefined)
    nextCommands(cli, [['updraft plan', 'what is sent, with the lines above in updraft.toml']]);
}

interface MakeOptions {
  environment?: string;
  image?: true;
  manifestOnly?: true;
}

const manifestName = 'pixi.toml';

function configureMake(command: Command, cli: Cli): void {
  subcommand(
    command,
    'make',
    'make a pack or image from requirements.txt, environment.yml or pyproject.toml',
    [
      'updraft env make requirements.txt -e gpu  # a pack, with the CUDA build of PyTorch',
      'updraft env make --image                  # an image of what is here',
    ],
  )
    .argument('[source]', 'requirements.txt, environment.yml or pyproject.toml')
    .option('-e, --environment <name>', 'cpu or gpu, where the software has PyTorch')
    .option('--image', 'build an image with Apptainer instead of a pack')
    .option('--manifest-only', `only write ${manifestName}`)
    .action((word: string | undefined, options: MakeOptions) => make(cli, word, options));
}

/** From what describes the software to what a worker can use: manifest, lock, and pack or image. */
async function make(cli: Cli, word: string | undefined, options: MakeOptions): Promise<void> {
  const source = await chooseSource(cli, word);
  const environments = await writeManifest(cli, source);
  const environment = options.environment ?? environments[0] ?? 'default';
  if (options.manifestOnly) return;
  const folder = source.kind === 'pixi' ? path.dirname(source.place) : cli.cwd;
  const workspace = path.relative(cli.cwd, folder) || '.';
  const isLocked = await stat(path.join(folder, lockName)).catch(() => undefined);
  if (isLocked === undefined) await lock(cli, workspace);
  const choice = { environment, platform: 'linux-64' };
  if (options.image) await imageOf(cli, workspace, { ...choice, build: true, force: true });
  else await packWorkspace(cli, workspace, { ...choice, outputFolder: '.' });
}

async function chooseSource(cli: Cli, word: string | undefined): Promise<SoftwareSource> {
  if (word !== undefined) return sourceOf(path.resolve(cli.cwd, word));
  const found = await findSoftware(cli.cwd);
  if (found !== undefined) return found;
  throw usageFault(
    'nothing here describes the software: there is no requirements.txt, environment.yml or pyproject.toml',
    'write one: pip freeze > requirements.txt, conda env export --from-history > environment.yml, or ' +
      'poetry export -o requirements.txt',
  );
}

/** Writes the manifest, unless there is one, and says what it could not carry over; returns its environments. */
async function writeManifest(cli: Cli, source: SoftwareSource): Promise<string[]> {
  const shown = path.relative(cli.cwd, source.place);
  if (source.kind === 'pixi') return [];
  const software = await readSoftware(source);
  const name =
    path
      .basename(cli.cwd)
      .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^-+/, '') || 'training';
  const text = renderManifest(software, name, shown.startsWith('..') ? source.place : shown);
  // A manifest of the user stays.
  const fix = `use it with: updraft env make ${shellQuote(manifestName)}; or remove it first`;
  await writeNew(cli, path.join(cli.cwd, manifestName), text, fix);
  for (const { what, why } of software.lost) cli.err(`not carried over: ${what}: ${why}\n`);
  if (software.python === undefined)
    cli.err(`the Python version was guessed: change it in ${manifestName} if the training needs another\n`);
  return environmentsOf(software);
}

interface ImageOptions extends Choice {
  write?: true;
  build?: true;
  agent?: true;
  docker?: true;
  force?: true;
}

const names = { docker: 'Dockerfile', apptainer: 'apptainer.def' } as const;

function configureImage(command: Command, cli: Cli): void {
  addHelp(
    describe(command, 'write the recipe of an image with an environment, and build it'),
    'guides/pixi-container.md',
    [
      'updraft env image -e gpu > apptainer.def  # print the recipe',
      'updraft env image -e gpu --build          # build the image with Apptainer',
    ],
  );
  addChoiceOptions(command)
    .option('--write', `write ${names.docker} and ${names.apptainer}`)
    .option('--force', 'replace recipes that differ')
    .option('--docker', 'print a Dockerfile, not an Apptainer definition')
    .option('--agent', 'put the agent into it, so that jobs are not sent one; writes the recipes')
    .option('--build', 'build the image with Apptainer')
    .action((word: string, options: ImageOptions) => imageOf(cli, word, options));
}

async function imageOf(cli: Cli, word: string, options: ImageOptions): Promise<void> {
  const workspace = await openWorkspace(cli, word);
  const facts = describeLocked(workspace, options.environment, options.platform);
  for (const [what, name] of [
    ['an environment', options.environment],
    ['a platform', facts.platform],
  ] as const)
    checkName(workspace.manifestFile, what, name);
  const folder = path.dirname(workspace.manifestFile);
  const locked = selectLocked(workspace.lock, options.environment, options.platform);
  refuseSources(locked, 'container', workspace.lockFile);
  const { platform } = locked;
  // Pixi requires the declared CUDA, whatever the packages need.
  const cuda =
    lockedVirtual(platform, '__cuda') ??
    declaredCuda(workspace.manifest, options.environment, platform) ??
    facts.needs.cuda;
  const input = {
    manifest: path.basename(workspace.manifestFile),
    environment: options.environment,
    // Of several platforms with one subdir, pixi takes the first that fits the build machine.
    ...(facts.platform !== facts.subdir && { platform: facts.platform }),
    ...(cuda !== undefined && { cuda: cuda.replace(/\.0$/, '') }),
    hash: facts.hash,
    agent: options.agent && (await placeAgent(cli, folder)),
  };
  const recipes = { docker: dockerfile(input), apptainer: apptainerDefinition(input) };
  const areWritten = options.write ?? options.build ?? options.agent ?? false;
  if (areWritten) {
    for (const kind of ['docker', 'apptainer'] as const)
      await writeNew(
        cli,
        path.join(folder, names[kind]),
        recipes[kind],
        options.force ? undefined : 'add --force to replace it',
      );
    await writeIgnored(cli, path.join(folder, '.dockerignore'));
  } else cli.out(options.docker ? recipes.docker : recipes.apptainer);
  if (options.build) await build(cli, workspace, options);
  else printImageNext(cli, choiceArguments(word, facts), areWritten);
  if (input.agent !== undefined) cli.out(agentLines(`image:${agentFolder}/${input.agent}`));
}

/** Names become part of the recipe's commands. */
function checkName(file: string, what: string, name: string): void {
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return;
  throw new Fault('file-invalid', `${file}: "${name}" is not a valid name for ${what}`, {
    about: file,
    fix: 'use only letters, digits and "-"',
  });
}

/** Keeps installed environments out of Docker's build context; an existing .dockerignore stays. */
async function writeIgnored(cli: Cli, file: string): Promise<void> {
  try {
    await writeFile(file, '.pixi\n', { flag: 'wx' });
    cli.err(`wrote ${path.relative(cli.cwd, file)}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Copies the agent beside the recipe; returns its name, which says what it is. */
async function placeAgent(cli: Cli, folder: string): Promise<string> {
  const bytes = await unpackedAgent(await findAgent(cli));
  const name = `${agentName}-${cli.version}-linux-${os.arch()}-${hash('sha256', bytes)}`;
  await replaceFile(path.join(folder, name), bytes, { mode: 0o755 });
  return name;
}

async function build(cli: Cli, workspace: Workspace, choice: Choice): Promise<void> {
  const folder = path.dirname(workspace.manifestFile);
  const name = `${fileStem(workspace, choice.environment)}.sif`;
  const apptainer = await needProgram('apptainer', 'building an image', cli.env);
  const draft = path.join(folder, `.${name}.part`);
  try {
    await runTool(cli, apptainer, ['build', '--force', draft, names.apptainer], { cwd: folder });
    const file = path.join(folder, hashName(name, await sha256Of(draft, cli.signal)));
    await rename(draft, file);
    const shown = path.relative(cli.cwd, file);
    cli.out(environmentLines(cli, workspace, choice, [`image = ${JSON.stringify(shown)}`]));
    nextCommands(cli, [[`updraft env stage ${shown} osdf:///…`, 'upload it for all jobs']]);
  } finally {
    await rm(draft, { force: true });
  }
}

function printImageNext(cli: Cli, chosen: string, areWritten: boolean): void {
  nextCommands(cli, [
    !areWritten && [`updraft env image${chosen} --write`, 'write both recipes beside the manifest'],
    [`updraft env image${chosen} --build`, 'build the image with Apptainer'],
    ['docker build -t REGISTRY/NAME:TAG .', 'or build it with Docker, and push it'],
  ]);
}
