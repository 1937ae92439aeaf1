import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { sha256Of } from '@updraft/base/disk';
import { apptainerDefinition, dockerfile } from '../../environment/image-recipe.ts';
import { describeLocked, type Workspace } from '../../environment/load-workspace.ts';
import { lockedVirtual, selectLocked } from '../../environment/pixi-lock.ts';
import { declaredCuda } from '../../environment/pixi-manifest.ts';
import { hashName, needProgram, refuseSources } from '../../environment/pixi-tools.ts';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { nextCommands } from '../text/phrases.ts';
import {
  type Choice,
  choiceArguments,
  environmentLines,
  fileStem,
  openWorkspace,
  runTool,
  addChoiceOptions,
  writeNew,
} from './workspace.ts';

interface Options extends Choice {
  write?: true;
  build?: true;
  docker?: true;
  force?: true;
}

const names = { docker: 'Dockerfile', apptainer: 'apptainer.def' } as const;

export function configureImage(command: Command, cli: Cli): void {
  addChoiceOptions(command)
    .option('--write', `write ${names.docker} and ${names.apptainer}`)
    .option('--force', 'replace recipes that differ')
    .option('--docker', 'print a Dockerfile, not an Apptainer definition')
    .option('--build', 'build the image with Apptainer')
    .action((word: string, options: Options) => imageOf(cli, word, options));
}

export async function imageOf(cli: Cli, word: string, options: Options): Promise<void> {
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
  };
  const recipes = { docker: dockerfile(input), apptainer: apptainerDefinition(input) };
  if (options.write || options.build) {
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
  else printNext(cli, choiceArguments(word, facts), options.write === true);
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

function printNext(cli: Cli, chosen: string, areWritten: boolean): void {
  nextCommands(cli, [
    !areWritten && [`updraft env image${chosen} --write`, 'write both recipes beside the manifest'],
    [`updraft env image${chosen} --build`, 'build the image with Apptainer'],
    ['docker build -t REGISTRY/NAME:TAG .', 'or build it with Docker, and push it'],
  ]);
}
