import { type Env, shellQuote, succeeds, isThere, mapLimited } from '@updraft/base';
import {
  access,
  constants,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { sha256Of } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip, gunzipSync } from 'node:zlib';
import { cacheFolder } from '@updraft/base/user-folders';
import { agentName, build, type Build, type Installation, installationOf } from '../job/installation.ts';

/** The agent for the workers, as a file that can be sent. */
export interface FoundAgent {
  arch: string;
  file: string;
  /** Whether the file is already packed with gzip. */
  isPacked: boolean;
}

/** What decides where the agent is: the environment, and how this program was started. */
export interface AgentSearch {
  env: Env;
  self: readonly string[];
  /** Of a one-file executable; only tests pass another. */
  build?: Build | undefined;
}

/**
 * The agent for machines of this architecture (Node's name): the executable that `UPDRAFT_AGENT` names, or the one that
 * this installation has. Source cannot be sent.
 */
export async function findAgent(search: AgentSearch, arch: string = os.arch()): Promise<FoundAgent> {
  const named = await namedAgent(search.env);
  if (named !== undefined) return { arch, file: named, isPacked: false };
  const { kind, root } = installationOf(search.self);
  const name = `${agentName}-linux-${arch}`;
  if (kind === 'checkout') return await needFile(path.join(root, 'dist', name), kind, root, arch);
  if (kind === 'package') return await needFile(path.join(root, 'agents', `${name}.gz`), kind, root, arch);
  if (arch === os.arch()) return { arch, file: search.self[0] ?? '', isPacked: false };
  return await besideExecutable(root, arch, search.build ?? build());
}

/** How to start the agent on this machine. Without a build, a checkout or a package runs its code with our own Node. */
export async function agentCommand(env: Env, self: readonly string[]): Promise<string[]> {
  const named = await namedAgent(env);
  if (named !== undefined) return [named];
  const { kind, root } = installationOf(self);
  const [program = '', main = ''] = self;
  if (kind === 'executable') return [program, agentName];
  const built = path.join(root, 'dist', `${agentName}-linux-${os.arch()}`);
  if (kind === 'checkout' && (await isAccessible(built, constants.X_OK))) return [built];
  const source = path.join(path.dirname(main), '..', 'agent', path.basename(main));
  if (await isAccessible(source, constants.R_OK)) return [program, source];
  throw missing(source, kind, root, os.arch());
}

async function namedAgent(env: Env): Promise<string | undefined> {
  const named = env['UPDRAFT_AGENT'] ?? '';
  if (named === '') return undefined;
  if (await isAccessible(named, constants.X_OK)) return path.resolve(named);
  throw new Fault('pool-unreachable', `UPDRAFT_AGENT: ${named} is not executable`, {
    fix: 'set it to the path of an agent executable, or unset it',
    about: named,
  });
}

async function needFile(
  file: string,
  kind: Installation['kind'],
  root: string,
  arch: string,
): Promise<FoundAgent> {
  const isPacked = file.endsWith('.gz');
  if (await isAccessible(file, isPacked ? constants.R_OK : constants.X_OK)) return { arch, file, isPacked };
  throw missing(file, kind, root, arch);
}

/** The agent for another architecture is a second file of the same release; a wrong one must not reach a worker. */
async function besideExecutable(root: string, arch: string, made: Build | undefined): Promise<FoundAgent> {
  const [name, sha256] =
    Object.entries(made?.agents ?? {}).find(([one]) => one.includes(`-linux-${arch}`)) ?? [];
  const file = path.join(root, name ?? `${agentName}-linux-${arch}.gz`);
  const found = await needFile(file, 'executable', root, arch);
  if ((await sha256Of(file)) === sha256) return found;
  throw new Fault('pool-unreachable', `${file} is not the agent for ${arch} of this version`, {
    fix: `put ${path.basename(file)} of the same release there, or set UPDRAFT_AGENT to an agent executable`,
    about: file,
  });
}

function missing(file: string, kind: Installation['kind'], root: string, arch: string): Fault {
  const fixes: Record<Installation['kind'], string> = {
    checkout: `build it: npm --prefix ${shellQuote(root)} run build:agent`,
    package: 'install the package again: its agents are missing',
    executable: `download ${path.basename(file)} of the same release into ${root}`,
  };
  return new Fault('pool-unreachable', `there is no agent for linux-${arch} machines: ${file} is missing`, {
    fix: `${fixes[kind]}; or set UPDRAFT_AGENT to an agent executable`,
    about: file,
  });
}

const isAccessible = (file: string, mode: number): Promise<boolean> => succeeds(access(file, mode));

/** 7 % larger than with level 6, in less than half the time. */
const level = 1;
/** What remains of an agent of 109 MB. */
const packedShare = 0.51;
const versionsKept = 3;

/** Adds the packed agent to a run's folder. */
export async function placePackedAgent(agent: FoundAgent, target: string, env: Env): Promise<void> {
  const packed = await packAgent(agent, env);
  await rm(target, { force: true });
  // A link is cheap, but does not work across file systems.
  await link(packed, target).catch(() => copyFile(packed, target));
}

/** The agent packed with gzip: as it was shipped, or packed once per version and shared by all runs. */
export async function packAgent({ file, isPacked }: FoundAgent, env: Env): Promise<string> {
  if (isPacked) return file;
  const packed = await packedName(file, env);
  const cache = path.dirname(packed);
  if (await isThere(packed)) return packed;
  await mkdir(cache, { recursive: true });
  const draft = `${packed}.${randomBytes(6).toString('hex')}.part`;
  await pipeline(createReadStream(file), createGzip({ level }), createWriteStream(draft));
  await rename(draft, packed);
  await removeOld(cache);
  return packed;
}

/** The agent as it runs. */
export async function unpackedAgent({ file, isPacked }: FoundAgent): Promise<Buffer> {
  const bytes = await readFile(file);
  return isPacked ? gunzipSync(bytes) : bytes;
}

/** The size of the packed agent; an estimate if it has not been packed yet. */
export async function packedBytes({ file, isPacked }: FoundAgent, env: Env): Promise<number> {
  if (isPacked) return (await stat(file)).size;
  const packed = await stat(await packedName(file, env)).catch(() => undefined);
  return packed?.size ?? Math.round((await stat(file)).size * packedShare);
}

const packedName = async (file: string, env: Env): Promise<string> =>
  path.join(cacheFolder(env), `agent-${await identityOf(file)}.gz`);

const staleMs = 3_600_000;

/** Keeps the packed agents of the last few versions: runs have their own links or copies. */
async function removeOld(cache: string): Promise<void> {
  const names = (await readdir(cache)).filter((name) => /^agent-[0-9a-f]+\.gz/.test(name));
  const dated = await mapLimited(names, 8, async (name) => {
    const file = path.join(cache, name);
    return { file, at: (await stat(file).catch(() => undefined))?.mtimeMs ?? 0 };
  });
  const newest = dated.sort((a, b) => b.at - a.at);
  const [packs, drafts] = [true, false].map((isComplete) =>
    newest.filter(({ file }) => file.endsWith('.gz') === isComplete),
  );
  for (const { file } of packs?.slice(versionsKept) ?? []) await rm(file, { force: true });
  // Packing takes seconds: a draft much older than the newest pack is abandoned.
  const latest = packs?.[0]?.at ?? 0;
  for (const { file, at } of drafts ?? []) if (at < latest - staleMs) await rm(file, { force: true });
}

/** Identifies a build by its size, date, and first and last parts, without reading all of it. */
async function identityOf(file: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  const hash = createHash('sha256').update(`${size} ${mtimeMs}`);
  await using handle = await open(file, 'r');
  const part = Buffer.alloc(1 << 16);
  for (const position of [0, Math.max(0, size - part.length)]) {
    const { bytesRead } = await handle.read(part, 0, part.length, position);
    hash.update(part.subarray(0, bytesRead));
  }
  return hash.digest('hex').slice(0, 16);
}
