import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { informativeLine, shellQuote } from '@updraft/base';
import { replaceFile } from '@updraft/base/disk';
import { findManifest, loadWorkspace, type Workspace } from '../../environment/load-workspace.ts';
import { Fault } from '@updraft/account/fault';
import type { Cli } from '../cli.ts';

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
  const named = [
    `pixi = ${JSON.stringify(manifest)}`,
    ...(choice.environment === 'default' ? [] : [`pixi_environment = ${JSON.stringify(choice.environment)}`]),
    ...(choice.platform === defaultPlatform ? [] : [`platform = ${JSON.stringify(choice.platform)}`]),
  ];
  return ['[environment]', ...(manifest.startsWith('..') ? [] : named), ...more, ''].join('\n');
}

/** Writes a file, unless it is there with this text; one with another text stays, unless there is no `fix`. */
export async function writeNew(cli: Cli, file: string, text: string, fix: string | undefined): Promise<void> {
  const present = await readFile(file, 'utf8').catch(() => undefined);
  const shown = path.relative(cli.cwd, file);
  if (present === text) return;
  if (present !== undefined && fix !== undefined)
    throw new Fault('usage', `${shown} already exists and differs`, { fix, about: file });
  await (fix === undefined ? replaceFile(file, text) : writeFile(file, text, { flag: 'wx' }));
  cli.err(`wrote ${shown}\n`);
}

const maxOutputChars = 16_000;

/**
 * Runs a program and shows its output, or with `capture` returns what it prints to stdout; on failure throws with the
 * most informative line, and all output as the cause.
 */
export async function runTool(
  cli: Cli,
  program: string,
  words: string[],
  { cwd = cli.cwd, capture }: { cwd?: string; capture?: true } = {},
): Promise<string> {
  if (!capture) cli.err(`$ ${[path.basename(program), ...words].map(shellQuote).join(' ')}\n`);
  const child = spawn(program, words, {
    cwd,
    env: { ...cli.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: cli.signal,
    killSignal: 'SIGTERM',
  });
  let [out, said] = ['', ''];
  const onData = (piece: Buffer): void => {
    const text = piece.toString('utf8');
    said = (said + text).slice(-maxOutputChars);
    if (!capture) cli.err(text);
  };
  child.stdout.on('data', (piece: Buffer) => {
    if (capture) out += piece.toString('utf8');
    else onData(piece);
  });
  child.stderr.on('data', onData);
  const [status] = await once(child, 'close').catch((error: unknown) => {
    cli.signal.throwIfAborted();
    said = (error as Error).message;
    return [null];
  });
  if (status === 0) return out;
  throw new Fault('environment-broken', `${path.basename(program)} failed: ${informativeLine(said)}`, {
    about: program,
    cause: new Error(said),
    ...(!capture && { fix: 'see its output above' }),
  });
}
