import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, open, readdir, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defined, type Env, formatSize, freeBytes, informativeLine } from '@updraft/base';
import { removeTree } from '@updraft/base/disk';
import { imageEntry } from '../../environment/image-recipe.ts';
import { isInstalledPack, settleInstalled } from '../../environment/installed-pack.ts';
import {
  PackInspector,
  brokenPack,
  checkPlatform,
  condaPlatform,
  type PackMetadata,
  PackSplitter,
  wrongPack,
} from '../../environment/pack-splitter.ts';
import { sizeEnvironment } from '../../environment/describe-environment.ts';
import { Fault } from '@updraft/account/fault';
import { openUnpacker } from '@updraft/archive';
import type { OrderedData, OrderedWorkspace } from '../../job/job.ts';
import type { Attempt, Context } from '../attempt.ts';
import { fetchBytes, isVerified } from '../data/stage-data.ts';

/**
 * Sets up the environment before any data moves: unpacks a pixi-pack archive, lets Pixi install a workspace, or
 * activates the environment of the image. Everything in the returned attempt runs in it; the archive is removed.
 */
export async function setUpEnvironment(attempt: Attempt): Promise<Attempt> {
  const { pack, image, workspace, fallback } = attempt.order.environment;
  const { context, scratch, record } = attempt;
  if (workspace !== undefined)
    return { ...attempt, context: { ...context, env: await installWorkspace(workspace, attempt) } };
  if (fallback !== undefined)
    record({
      kind: 'environment-ready',
      how: `this machine's own software: ${fallback}`,
      seconds: 0,
      bytes: 0,
    });
  if (pack === undefined) {
    if (image === undefined || !existsSync(imageEntry)) return attempt;
    return {
      ...attempt,
      context: { ...context, env: await enterImage(imageEntry, image, scratch.root, context) },
    };
  }
  const name = pack.url.replace(/[?#].*$/, '').replace(/^.*\//, '');
  const target = path.join(scratch.root, 'software');
  // After a pause, the software is still there.
  const completeMark = path.join(target, '.whole');
  if (!existsSync(completeMark)) {
    await (isInstalledPack(name) ? placeInstalled : unpackInto)(target, pack, name, attempt);
    await writeFile(completeMark, '');
  }
  const env = await activate(await activationScript(target, name), name, target, context);
  return { ...attempt, context: { ...context, env } };
}

/** Pixi keeps what it installs in the workspace: the first attempt waits for it, later ones find it there. */
async function installWorkspace(
  { manifest, environment }: OrderedWorkspace,
  { context, scratch, record }: Attempt,
): Promise<Env> {
  const started = context.clock.monotonic();
  const name = `the environment "${environment}" of ${manifest}`;
  const which = ['--environment', environment, '--manifest-path', manifest];
  const pixi = async (...args: string[]): Promise<Buffer> => {
    const ended = await runProgram(['pixi', ...args, ...which], context.env, scratch.root, context);
    if (ended.status === 0) return ended.out;
    const fix =
      'run `pixi install --locked` by hand; if the lock file does not match, run `updraft env lock`';
    const message = `pixi ${args[0] ?? ''} failed on ${name}: ${failureText(ended)}`;
    throw new Fault('environment-broken', message, { about: manifest, fix });
  };
  await pixi('install', '--locked');
  const script = path.join(scratch.root, 'activate.sh');
  await writeFile(script, await pixi('shell-hook', '--locked', '--no-install', '--shell', 'bash'));
  const env = await activate(script, name, scratch.root, context);
  const seconds = (context.clock.monotonic() - started) / 1000;
  record({ kind: 'environment-ready', how: `pixi: ${name}`, seconds, bytes: 0 });
  return env;
}

async function unpackInto(target: string, pack: OrderedData, name: string, attempt: Attempt): Promise<void> {
  const { context, scratch, record } = attempt;
  const started = context.clock.monotonic();
  const folder = path.join(scratch.stage, '.software');
  await mkdir(folder, { recursive: true });
  await mkdir(target);
  const { bytes } = pack.expect;
  if (bytes !== undefined)
    checkSpace(/\.sh$/i.test(name) ? bytes * 0.75 : bytes, 'peakDisk', name, scratch.root);
  const received = await receivePack(pack, name, folder, attempt);
  checkPlatform(received.metadata, condaPlatform(os.arch()), name);
  checkSpace(received.bytes, 'fromArchive', name, scratch.root);
  record({ kind: 'phase', phase: 'unpacking' });
  await unpack(received, name, target, attempt);
  await removeTree(folder);
  const seconds = (context.clock.monotonic() - started) / 1000;
  record({ kind: 'environment-ready', how: `pack ${name}`, seconds, bytes: received.bytes });
}

/** An installed environment is unpacked while it arrives. */
async function placeInstalled(
  target: string,
  pack: OrderedData,
  name: string,
  attempt: Attempt,
): Promise<void> {
  const { context, record } = attempt;
  const started = context.clock.monotonic();
  await mkdir(target);
  const unpacker = openUnpacker({ name, mode: 'tar.zst', into: target });
  let asPublished = false;
  try {
    asPublished = isVerified(await fetchBytes(pack, (chunk) => unpacker.write(chunk), attempt));
    record({ kind: 'phase', phase: 'unpacking' });
    const { bytes } = await unpacker.finish();
    await settleInstalled(target, name, condaPlatform(os.arch()));
    const seconds = (context.clock.monotonic() - started) / 1000;
    record({ kind: 'environment-ready', how: `pack ${name}`, seconds, bytes });
  } catch (thrown) {
    await unpacker.abort();
    throw toBrokenFault(thrown, name, asPublished);
  }
}

/** Reports a disk that is too small, with the figures, before any bytes are moved. */
function checkSpace(packed: number, from: 'peakDisk' | 'fromArchive', name: string, folder: string): void {
  const { peakDisk, why } = sizeEnvironment(Math.round(packed), 'pack', formatSize);
  const need = from === 'peakDisk' ? peakDisk : peakDisk - packed;
  const free = freeBytes(folder) ?? Infinity;
  if (free >= need) return;
  throw new Fault(
    'disk-full',
    `unpacking ${name} needs ${formatSize(need)}, and the disk of ${folder} has ${formatSize(free)} free (${why})`,
    { about: folder, fix: 'ask for more disk in [resources], or use the environment in an image' },
  );
}

async function unpack(
  { tar, unpacker, metadata }: ReceivedPack,
  name: string,
  target: string,
  attempt: Attempt,
): Promise<void> {
  const { order, scratch, context } = attempt;
  const program = unpacker ?? sentUnpacker(order.environment.unpacker, order.filesFrom);
  if (program === undefined)
    throw brokenPack(
      name,
      'it is not self-extracting, and pixi-unpack was not sent along',
      'set `pixi_unpack` in [environment], or pack it self-extracting: updraft env pack',
    );
  // The temporary folder is beside the target: files are linked, not copied, and nothing lands in /tmp.
  const env = { ...context.env, TMPDIR: path.dirname(tar) };
  const ended = await runProgram([...program, '-o', target, tar], env, scratch.root, context);
  if (ended.status === 0) return;
  const madeBy = metadata.madeBy === undefined ? '' : ` (made by pixi-pack ${metadata.madeBy})`;
  throw brokenPack(name, `${path.basename(program[0])} failed on it${madeBy}: ${failureText(ended)}`);
}

const sentUnpacker = (unpacker: string | undefined, filesFrom: string): [string] | undefined =>
  unpacker === undefined ? undefined : [path.join(filesFrom, unpacker)];

async function activationScript(target: string, name: string): Promise<string> {
  const names = await readdir(target);
  if (names.includes('activate.sh')) return path.join(target, 'activate.sh');
  throw brokenPack(name, `unpacking it left no activate.sh (only ${names.join(', ')})`);
}

/** Variables that every shell sets for itself. */
const shellVariables = new Set(['_', 'SHLVL', 'PWD', 'OLDPWD']);

/** The variables that an environment's activation script sets, for every later command, whatever its shell. */
async function activate(script: string, name: string, folder: string, context: Context): Promise<Env> {
  const env = { ...context.env, BASH_ENV: undefined };
  const args = ['-c', '. "$1" >/dev/null && env -0', 'activate', script];
  let ended: ProgramResult = await runProgram(['bash', ...args], env, folder, context);
  // Activation scripts of packages may need bash; without it, those for POSIX shells still work.
  if (ended.status === undefined) ended = await runProgram(['/bin/sh', ...args], env, folder, context);
  if (ended.status !== 0) throw brokenPack(name, `it cannot be activated: ${failureText(ended)}`);
  return variablesOf(ended.out);
}

/** The variables that the image's entry script sets: schedulers bypass it when they start a command in an image. */
async function enterImage(entry: string, image: string, folder: string, context: Context): Promise<Env> {
  const ended = await runProgram([entry, 'env', '-0'], context.env, folder, context);
  if (ended.status === 0) return variablesOf(ended.out);
  throw new Fault(
    'environment-broken',
    `the environment in the image ${image} cannot be activated: ${failureText(ended)}`,
    { about: image, fix: 'build the image again: updraft env image --build' },
  );
}

function variablesOf(out: Buffer): Env {
  const pairs = out
    .toString('utf8')
    .split('\0')
    .flatMap((pair): [string, string][] => {
      const at = pair.indexOf('=');
      const key = pair.slice(0, at);
      return at < 1 || shellVariables.has(key) ? [] : [[key, pair.slice(at + 1)]];
    });
  return Object.fromEntries(pairs);
}

/** A complete pixi-pack archive, and how to unpack it. */
interface ReceivedPack {
  tar: string;
  bytes: number;
  metadata: PackMetadata;
  /** The program and its first arguments; undefined if the archive holds none. */
  unpacker: [string, ...string[]] | undefined;
}

/** Receives the archive into a folder, split and inspected as it arrives; nothing in it has run yet. */
async function receivePack(
  pack: OrderedData,
  name: string,
  folder: string,
  attempt: Attempt,
): Promise<ReceivedPack> {
  const tar = path.join(folder, 'environment.tar');
  const program = path.join(folder, 'pixi-unpack');
  const inspector = new PackInspector(name);
  await using tarFile = await open(tar, 'wx', 0o600);
  await using programFile = await open(program, 'wx', 0o600);
  const splitter = new PackSplitter(name, {
    async tar(piece) {
      await inspector.write(piece);
      await tarFile.writeFile(piece);
    },
    program: (piece) => programFile.writeFile(piece),
  });
  let asPublished = false;
  try {
    asPublished = isVerified(await fetchBytes(pack, (chunk) => splitter.write(chunk), attempt));
    splitter.end();
    const { metadata } = inspector.finish();
    await chmod(program, 0o700);
    const brought = splitter.program;
    const unpacker: ReceivedPack['unpacker'] = brought && [program, ...brought.subcommand];
    return { tar, bytes: (await stat(tar)).size, metadata, unpacker };
  } catch (thrown) {
    throw toBrokenFault(thrown, name, asPublished);
  }
}

/** What the archive reader found wrong means unusable software here: on every machine, if published like that. */
function toBrokenFault(thrown: unknown, name: string, asPublished: boolean): unknown {
  if (!(thrown instanceof Fault)) return thrown;
  if (thrown.kind === 'archive-damaged')
    return asPublished ? wrongPack(name, thrown.message) : brokenPack(name, thrown.message);
  if (thrown.kind !== 'environment-broken' || !asPublished) return thrown;
  const { message, fix } = thrown;
  return new Fault('archive-kind', message, { about: name, ...defined({ fix }) });
}

interface ProgramResult {
  /** 0 to 255; null if a signal ended it; undefined if it could not be started. */
  status: number | null | undefined;
  out: Buffer;
  /** The end of what it printed to stderr. */
  stderr: string;
}

const maxStderr = 4000;
const maxStdout = 4 << 20;

/** Runs a program in its own process group until it ends, or the attempt does. */
async function runProgram(
  args: [string, ...string[]],
  env: Env,
  cwd: string,
  { signal, kill }: Context,
): Promise<ProgramResult> {
  signal.throwIfAborted();
  const [program, ...rest] = args;
  const child = spawn(program, rest, {
    cwd,
    env: { ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pieces: Buffer[] = [];
  let [said, bytes] = ['', 0];
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= maxStdout) pieces.push(piece);
  });
  child.stderr.on('data', (piece: Buffer) => (said = (said + piece.toString('utf8')).slice(-maxStderr)));
  const stop = (): void => {
    if (child.pid !== undefined) kill(-child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const status = await new Promise<ProgramResult['status']>((resolve) => {
      child.once('error', (error) => {
        said = error.message;
        resolve(undefined);
      });
      child.once('close', (code) => resolve(code));
    });
    signal.throwIfAborted();
    return { status, out: Buffer.concat(pieces), stderr: said.trim() };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Why a program failed, in its own words, or how it ended. */
function failureText({ stderr, status }: ProgramResult): string {
  const line = informativeLine(stderr);
  if (line !== '') return line;
  return status === null ? 'it was killed by a signal' : `it exited with code ${status ?? 'unknown'}`;
}
