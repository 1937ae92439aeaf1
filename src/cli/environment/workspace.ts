import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '../../base/shell-quote.ts';
import { findManifest, loadWorkspace, type Workspace } from '../../environment/load-workspace.ts';
import type { Cli } from '../cli.ts';

/** The options by which every command finds one environment. */
export interface Choice {
  environment: string;
  platform: string;
}

export function withChoice(command: Command): Command {
  return command
    .argument('[workspace]', 'a pixi.toml or pyproject.toml, or the folder that holds one', '.')
    .option('-e, --environment <name>', 'environment of the workspace', 'default')
    .option('-p, --platform <name>', 'platform of the workers', usualPlatform);
}

const usualPlatform = 'linux-64';

/** The words by which another command means the same environment. */
export function chosenWords(workspace: string, { environment, platform }: Choice): string {
  const argument = workspace === '.' ? '' : ` ${shellQuote(workspace)}`;
  return `${argument} -e ${shellQuote(environment)}${platform === usualPlatform ? '' : ` -p ${shellQuote(platform)}`}`;
}

/** The manifest that a word of the command line means, as the user would write it. */
export async function manifestOf(cli: Cli, word: string): Promise<string> {
  const file = await findManifest(path.resolve(cli.cwd, word));
  const short = path.relative(cli.cwd, file);
  return short.startsWith('..') ? file : short;
}

/** What files of an environment are called; names in a manifest may hold anything. */
export const fileStem = ({ manifest }: Workspace, environment: string): string =>
  `${manifest.name ?? 'environment'}-${environment}`.replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '');

/** Reads a workspace, with paths as the user would write them. */
export async function openWorkspace(cli: Cli, word: string): Promise<Workspace> {
  const file = await findManifest(path.resolve(cli.cwd, word));
  return await loadWorkspace(file);
}

/** What a job file says of an archive that brings no program to unpack it. */
export const unpackerLines = (archive: string): string[] =>
  archive.endsWith('.tar')
    ? ['pixi_unpack = "pixi-unpack"   # a copy of the program beside the job file']
    : [];

/** `[environment]` of a job file that lies here: with the workspace named, its lock decides what the job needs. */
export function environmentLines(
  cli: Cli,
  { manifestFile }: Workspace,
  choice: Choice,
  more: string[],
): string {
  const manifest = path.relative(cli.cwd, manifestFile);
  const named = [
    `pixi = ${JSON.stringify(manifest)}`,
    ...(choice.environment === 'default' ? [] : [`pixi_environment = ${JSON.stringify(choice.environment)}`]),
    ...(choice.platform === usualPlatform ? [] : [`platform = ${JSON.stringify(choice.platform)}`]),
  ];
  return ['[environment]', ...(manifest.startsWith('..') ? [] : named), ...more, ''].join('\n');
}
