import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Env, isThere, mapLimited } from '@updraft/base';
import { cacheFolder } from '@updraft/base/user-folders';
import type { FoundAgent } from './find-agent.ts';

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
