import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '@updraft/base';
import {
  findSoftware,
  readSoftware,
  type SoftwareSource,
  sourceOf,
} from '../../environment/find-software.ts';
import { lockName } from '../../environment/load-workspace.ts';
import { environmentsOf, renderManifest } from '../../environment/render-manifest.ts';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { imageOf } from './image.ts';
import { packWorkspace } from './pack.ts';
import { writeNew } from './workspace.ts';

interface Options {
  environment?: string;
  image?: true;
  manifestOnly?: true;
}

const manifestName = 'pixi.toml';

type Lock = (cli: Cli, word: string) => Promise<void>;

export function configureMake(command: Command, cli: Cli, lock: Lock): void {
  command
    .argument('[source]', 'requirements.txt, environment.yml, pyproject.toml, or a virtual environment')
    .option('-e, --environment <name>', 'cpu or gpu, where the software has PyTorch')
    .option('--image', 'build an image with Apptainer instead of a pack')
    .option('--manifest-only', `only write ${manifestName}`)
    .action((word: string | undefined, options: Options) => make(cli, word, options, lock));
}

/** From what describes the software to what a worker can use: manifest, lock, and pack or image. */
async function make(cli: Cli, word: string | undefined, options: Options, lock: Lock): Promise<void> {
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
  if (word !== undefined) {
    const place = path.resolve(cli.cwd, word);
    const found = await stat(place).catch(() => undefined);
    return sourceOf(place, found?.isDirectory() === true);
  }
  const found = await findSoftware(cli.cwd, cli.env);
  if (found !== undefined) return found;
  throw new Fault(
    'usage',
    'nothing here describes the software, and no virtual or conda environment is active',
    { fix: 'name it: updraft env make requirements.txt (pip freeze > requirements.txt writes one)' },
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
