import fs from 'node:fs';
import { defined } from '@updraft/base';
import { Fault } from '../fault.ts';
import type { Located, LocateOptions } from '../federation/located.ts';
import { readOriginFacts } from '../federation/origin-facts.ts';
import { ConnectionPool, firstAnswer } from '../http/connections.ts';
import { Roster, type Source } from './engine/roster.ts';
import { missingFacts, resolveSettings, type Fetched, type FetchOptions, type Settings } from './fetch.ts';
import { digestWaitMs } from './limits.ts';
import { askObject, hasher, type Algorithm, type ObjectChecksums } from './proof/digest.ts';
import { withDiskFaults } from './sinks/part-file.ts';

/** The result if the target already holds the object, a Fault if it holds something else; undefined if it is free. */
export async function alreadyThere(
  url: string,
  target: string,
  options: FetchOptions,
): Promise<Fetched | undefined> {
  const settings = resolveSettings(url, options);
  const stat = withDiskFaults(target, () => fs.statSync(target, { throwIfNoEntry: false }));
  if (stat === undefined) return undefined;
  if (!stat.isFile())
    throw new Fault('scratch-unusable', `${target} exists and is not a file`, { about: target });
  const compared = await compare(url, target, stat.size, settings);
  if (compared !== undefined) return { bytes: stat.size, seconds: 0, servers: [], ...compared };
  throw new Fault('file-invalid', `${target} exists and is not ${settings.shownUrl}`, {
    about: target,
    fix: 'remove it, choose another name, or allow overwriting',
  });
}

async function compare(
  url: string,
  target: string,
  size: number,
  settings: Settings,
): Promise<Pick<Fetched, 'verified' | 'missing'> | undefined> {
  const { manifest, sha256: hex = manifest?.sha256 } = settings;
  const isProven = async ({ algorithm, hex }: { algorithm: Algorithm; hex: string }) =>
    (await hashFile(target, algorithm)) === hex ? { verified: 'digest' as const } : undefined;
  if (settings.size !== undefined && settings.size !== size) return undefined;
  if (hex !== undefined) return await isProven({ algorithm: 'sha-256', hex });
  const remote = await askAny(url, size, settings);
  if (remote?.size === undefined)
    throw new Fault(
      'file-invalid',
      `${target} exists, and no server says whether it is ${settings.shownUrl}`,
      { about: target, fix: 'try again later, choose another name, or allow overwriting' },
    );
  if (remote.size !== size) return undefined;
  if (remote.digest === undefined) return { verified: 'size', ...missingFacts('size', remote) };
  return await isProven(remote.digest);
}

/** The size according to the origin, and a server's digest if that size is the one on disk. */
async function askAny(url: string, here: number, settings: Settings): Promise<ObjectChecksums | undefined> {
  const { locator, clock, limits, signal, tokenFile, connections: idle } = settings;
  const roster = new Roster();
  const pool = new ConnectionPool({ clock, ca: locator.ca, connectMs: limits.connectSeconds * 1000, idle });
  const locate = (how: LocateOptions): Promise<Located> =>
    locator.locate(url, { ...how, signal, ...(tokenFile !== undefined && { tokenFile }) });
  try {
    const located = await locate({});
    roster.add(located, clock.monotonic());
    const known = await readOriginFacts(located, { wire: pool, locate, signal }).catch(() => undefined);
    signal.throwIfAborted();
    const { size, etag, modified } = known ?? {};
    const facts = { size, etag, modified, digest: undefined };
    if (size !== undefined && size !== here) return facts;
    const ask = (source: Source, how: { signal: AbortSignal }) =>
      askObject(source, pool, digestWaitMs(here, limits), how.signal);
    const answer = await firstAnswer(roster.sources, ask, { federation: { wire: pool }, signal });
    return { ...facts, ...defined({ ...answer }) };
  } finally {
    pool.close();
  }
}

async function hashFile(file: string, algorithm: Algorithm): Promise<string> {
  const hash = hasher(algorithm);
  for await (const chunk of fs.createReadStream(file, { highWaterMark: 1 << 20 }))
    hash.update(chunk as Buffer);
  return hash.hex();
}
