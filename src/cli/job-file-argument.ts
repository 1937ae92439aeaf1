import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { nearest, shellQuote, given } from '@updraft/base';
import { jobFileNames } from '@updraft/account/run-folder';
import { pools } from '../job/choices.ts';
import type { LoadOptions } from '../job/load-plan.ts';
import type { Cli } from './cli.ts';
import { upwards } from './upwards.ts';

/** The same arguments for a suggested command, each with a leading space; defaults are left out. */
export function jobFileArgument(where: string, options: JobFileOptions = {}): string {
  const words = given(
    where !== '.' && where,
    ...(options.with ?? []).flatMap((one) => ['--with', one]),
    ...(options.set ?? []).flatMap((one) => ['--set', one]),
    ...(options.jobs === undefined ? [] : ['--jobs', options.jobs]),
    ...(options.pool === undefined ? [] : ['--pool', options.pool]),
  );
  return words.map((word) => ` ${shellQuote(word)}`).join('');
}

/** What a command line may override in the job file. */
export interface JobFileOptions {
  with?: string[];
  set?: string[];
  jobs?: string;
  pool?: string;
}

/** The argument and the options of every command that reads a job file. */
export function jobFileOptions(command: Command): Command {
  return command
    .argument('[folder|file]', 'the job file, or its folder', '.')
    .option('--with <file>', 'a second job file that overrides values (repeatable)', collect)
    .option('--set <key=value>', 'override a value: --set run.jobs=2 (repeatable)', collect)
    .option('--jobs <count>', 'how many copies, as --set run.jobs=COUNT')
    .option('--pool <name>', `where to run: ${pools.join(', ')}`, poolOption);
}

/** For options that may be repeated. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

function poolOption(name: string): string {
  if (pools.some((pool) => pool === name)) return name;
  const close = nearest(name, pools);
  const hint = close === undefined ? '' : ` (did you mean "${close}"?)`;
  throw new InvalidArgumentError(`it must be one of ${pools.join(', ')}${hint}.`);
}

/** The folder of the nearest job file above, for a command that changes nothing, where nobody named one. */
export async function jobFileAbove({ cwd, err }: Pick<Cli, 'cwd' | 'err'>, where: string): Promise<string> {
  for (const folder of where === '.' ? upwards(cwd) : []) {
    const names = await readdir(folder).catch((): string[] => []);
    const name = jobFileNames.find((one) => names.includes(one));
    if (name === undefined) continue;
    if (folder === path.resolve(cwd)) return where;
    err(`this folder has no job file; ${path.join(folder, name)} is meant\n`);
    return path.relative(cwd, folder);
  }
  return where;
}

/** The options as `loadPlan` takes them. */
export function loadOptions(
  cli: Cli,
  { with: files = [], set = [], jobs, pool }: JobFileOptions,
): LoadOptions {
  const copies = jobs === undefined ? [] : [`run.jobs=${jobs}`];
  const pools = pool === undefined ? [] : [`run.pool=${JSON.stringify(pool)}`];
  const { cwd, env } = cli;
  const tokenFor = async (url: string): Promise<string | undefined> =>
    await (await import('./object/login.ts')).tokenFileFor(cli, url);
  const confirmedFor = async (urls: string[]): Promise<string[] | undefined> =>
    await (await import('./object/login.ts')).confirmedAmong(cli, urls);
  return { cwd, env, with: files, set: [...set, ...copies, ...pools], tokenFor, confirmedFor };
}
