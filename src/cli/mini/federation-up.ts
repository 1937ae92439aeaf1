import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { succeeds } from '@updraft/base';
import { Fault, usageFault } from '@updraft/account/fault';
import {
  type FederationState,
  findFederation,
  type NamespaceOptions,
  parseTrouble,
  type ServerModel,
  serverModels,
  startSharedFederation,
  TroubleSyntaxError,
} from '@updraft/mini/federation';
import type { Cli } from '../cli.ts';
import { showFederation } from './federation-control.ts';
import { miniFolder } from './state-folder.ts';

export interface UpOptions {
  publish?: string[];
  tokenFor?: string[];
  writable?: string[];
  caches: string;
  http?: true;
  like?: string;
  trouble?: string[];
  detach?: true;
  state?: string;
  json?: true;
}

/** Starts a federation, in the foreground until Ctrl-C or in the background. */
export async function federationUp(cli: Cli, options: UpOptions): Promise<void> {
  const folder = miniFolder(cli, 'mini-federation', options.state);
  const published = await readPublished(cli.cwd, options);
  const caches = readCount(options.caches);
  const like = readLike(options.like);
  for (const rule of options.trouble ?? []) checkTrouble(rule, caches);
  const running = await findFederation(folder);
  if (running !== undefined)
    throw usageFault(
      `a mini federation is already running (process ${running.process.pid}, ${folder})`,
      'run updraft mini federation down, or choose another folder with --state',
    );
  if (options.detach) showFederation(cli, await detach(cli, folder, published, options), options);
  else {
    const servers = { namespaces: published, caches, like, http: options.http === true, clock: cli.clock };
    await runInForeground(cli, folder, { ...servers, trouble: options.trouble ?? [] }, options);
  }
}

async function runInForeground(
  cli: Cli,
  folder: string,
  servers: Parameters<typeof startSharedFederation>[2],
  options: UpOptions,
): Promise<void> {
  const kept = await startSharedFederation(folder, cli.pid, servers);
  try {
    showFederation(cli, kept.state, options);
    cli.err('\nrunning; press Ctrl-C to stop it\n');
    if (!cli.signal.aborted) await once(cli.signal, 'abort');
  } finally {
    await kept.stop();
  }
}

/** Runs this command again without `--detach` and waits until the federation is up. */
async function detach(
  cli: Cli,
  folder: string,
  published: Published[],
  options: UpOptions,
): Promise<FederationState> {
  const [program = '', ...leading] = cli.self;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const logFile = path.join(folder, 'log');
  const log = await open(logFile, 'w', 0o600);
  const words = ['--state', folder, ...publishArguments(published), ...otherArguments(options)];
  const child = spawn(program, [...leading, 'mini', 'federation', 'up', ...words], {
    detached: true,
    cwd: folder,
    stdio: ['ignore', log.fd, log.fd] as const,
  });
  try {
    const ended = succeeds(once(child, 'exit')).then(() => 'ended');
    for (;;) {
      const state = await findFederation(folder);
      if (state !== undefined) return state;
      if ((await Promise.race([ended, cli.clock.sleep(50, cli.signal)])) !== 'ended') continue;
      const said = (await readFile(logFile, 'utf8')).trim();
      throw new Fault('servers-unreachable', `the federation did not start: ${said}`, { about: logFile });
    }
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  } finally {
    child.unref();
    await log.close();
  }
}

function publishArguments(published: Published[]): string[] {
  return published.flatMap(({ prefix, folder, public: open, writable }) => [
    '--publish',
    `${prefix}=${folder}`,
    ...(open ? [] : ['--token-for', prefix]),
    ...(writable ? ['--writable', prefix] : []),
  ]);
}

function otherArguments({ caches, http, like, trouble = [] }: UpOptions): string[] {
  const rules = trouble.flatMap((rule) => ['--trouble', rule]);
  const mode = like === undefined ? [] : ['--like', like];
  return ['--caches', caches, ...(http ? ['--http'] : []), ...mode, ...rules];
}

function readLike(word: string | undefined): ServerModel | undefined {
  const found = serverModels.find((each) => each === word);
  if (word === undefined || found !== undefined) return found;
  throw usageFault(`--like ${word}: expected one of ${serverModels.join(', ')}`);
}

function readCount(word: string): number {
  const count = Number(word);
  if (Number.isInteger(count) && count >= 1 && count <= 50) return count;
  throw usageFault(`--caches ${word}: expected a number from 1 to 50`);
}

function checkTrouble(rule: string, caches: number): void {
  try {
    const { server } = parseTrouble(rule);
    if (Number(server.replace('cache-', '')) > caches)
      throw new TroubleSyntaxError(rule, `there is no server ${server}`);
  } catch (error) {
    if (!(error instanceof TroubleSyntaxError)) throw error;
    const fix = '`updraft docs mini-federation` has the syntax of rules';
    throw usageFault(error.message, fix);
  }
}

/** A folder to publish, from the command line. */
type Published = Omit<Required<NamespaceOptions>, 'listings'>;

/** Reads `--publish /prefix=FOLDER`, `--token-for /prefix` and `--writable /prefix`, and checks that they agree. */
async function readPublished(cwd: string, options: UpOptions): Promise<Published[]> {
  const { publish = [], tokenFor = [], writable = [] } = options;
  if (publish.length === 0)
    throw usageFault('nothing to publish', 'name a folder, as in --publish /demo=data');
  const folders = new Map<string, string>();
  for (const word of publish) {
    const [prefix, folder] = await readFolder(cwd, word);
    if (folders.has(prefix)) throw usageFault(`${prefix} is published twice`);
    folders.set(prefix, folder);
  }
  for (const [option, prefixes] of Object.entries({ '--token-for': tokenFor, '--writable': writable }))
    for (const prefix of prefixes)
      if (!folders.has(prefix)) throw usageFault(`${option} ${prefix}: add --publish ${prefix}=FOLDER`);
  return [...folders].map(([prefix, folder]) => ({
    prefix,
    folder,
    public: !tokenFor.includes(prefix),
    writable: writable.includes(prefix),
  }));
}

async function readFolder(cwd: string, word: string): Promise<[string, string]> {
  const [, prefix, given] = /^((?:\/[\w.~-]+)+)=(.+)$/s.exec(word) ?? [];
  if (prefix === undefined || given === undefined || /^\/(api|\.well-known)(\/|$)|\/\.\.?(\/|$)/.test(prefix))
    throw usageFault(`--publish ${word}: expected /prefix=FOLDER`, '--publish /demo=data');
  const folder = path.resolve(cwd, given);
  const info = await stat(folder).catch(() => undefined);
  if (info?.isDirectory() === true) return [prefix, folder];
  throw usageFault(`--publish ${word}: ${folder} is not a folder`);
}
