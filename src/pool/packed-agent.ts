import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants, copyFile, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Env } from '../base/env.ts';
import { isGone } from '../base/error-reason.ts';
import { mapLimited } from '../base/map-limited.ts';
import { cacheFolder } from '../base/user-folders.ts';
import { Fault } from '../fault/fault.ts';

/** 7 % larger than with level 6, in less than half the time. */
const level = 1;
const versionsKept = 3;

/** The agent's executable for the workers; source cannot be sent. */
export async function agentExecutable(env: Env, self: readonly string[]): Promise<string> {
  const [file = '', ...more] = await agentCommand(env, self);
  if (more.length === 0) return file;
  throw new Fault(
    'pool-unreachable',
    'the agent has not been built, and its source cannot be sent to a pool',
    {
      fix: 'build it with `npm run build:agent`, or set UPDRAFT_AGENT to an agent executable',
    },
  );
}

/** Adds the packed agent to a run's folder; each version is packed once and shared by all runs. */
export async function placePackedAgent(executable: string, target: string, env: Env): Promise<void> {
  const cache = cacheFolder(env);
  const packed = path.join(cache, `agent-${await identityOf(executable)}.gz`);
  if (!(await isThere(packed))) {
    await mkdir(cache, { recursive: true });
    const draft = `${packed}.${randomBytes(6).toString('hex')}.part`;
    await pipeline(createReadStream(executable), createGzip({ level }), createWriteStream(draft));
    await rename(draft, packed);
    await removeOld(cache);
  }
  await rm(target, { force: true });
  // A link is cheap, but does not work across file systems.
  await link(packed, target).catch(() => copyFile(packed, target));
}

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

async function isThere(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/**
 * How to start the agent: the executable that `UPDRAFT_AGENT` names, or the one built for this machine, or, in a
 * checkout without a build, its source with our own Node. `self` is how this program is started.
 */
export async function agentCommand(env: Env, self: readonly string[]): Promise<string[]> {
  const named = env['UPDRAFT_AGENT'];
  if (named !== undefined && named !== '') {
    if (await isAccessible(named, constants.X_OK)) return [path.resolve(named)];
    throw new Fault('pool-unreachable', `UPDRAFT_AGENT: ${named} is not executable`, {
      fix: 'set it to the path of an agent executable, or unset it',
      about: named,
    });
  }
  const [node = '', main = ''] = self;
  const root = path.resolve(path.dirname(main), '..', '..');
  const built = path.join(root, 'dist', `updraft-agent-linux-${os.arch()}`);
  if (await isAccessible(built, constants.X_OK)) return [built];
  const source = path.join(path.dirname(main), '..', 'agent', path.basename(main));
  if (await isAccessible(source, constants.R_OK)) return [node, source];
  throw new Fault('pool-unreachable', `found no agent for this machine: ${built} is missing`, {
    fix: 'build it with `npm run build:agent`, or set UPDRAFT_AGENT to an agent executable',
    about: built,
  });
}

function isAccessible(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
