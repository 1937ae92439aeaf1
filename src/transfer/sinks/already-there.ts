import fs from 'node:fs';
import { Fault } from '../../fault/fault.ts';
import { ConnectionPool } from '../../http/connections.ts';
import type { Fetched, Verified } from '../fetch.ts';
import { hasher, type Algorithm } from '../proof/hasher.ts';
import { askObject } from '../proof/digest.ts';
import { onDisk } from './part-file.ts';
import { Roster } from '../engine/roster.ts';
import type { Settings } from '../settings.ts';

/** The result, if the target already holds the object; a Fault if it holds something else; else undefined. */
export async function alreadyThere(
  url: string,
  target: string,
  settings: Settings,
): Promise<Fetched | undefined> {
  const stat = onDisk(target, () => fs.statSync(target, { throwIfNoEntry: false }));
  if (stat === undefined) return undefined;
  if (!stat.isFile())
    throw new Fault('scratch-unusable', `${target} exists and is not a file`, { about: target });
  const verified = await compare(url, target, stat.size, settings);
  if (verified !== undefined) return { bytes: stat.size, seconds: 0, verified, servers: [] };
  throw new Fault('file-invalid', `${target} exists and is not ${settings.shownUrl}`, {
    about: target,
    fix: 'Remove it, choose another name, or ask for it to be overwritten.',
  });
}

async function compare(
  url: string,
  target: string,
  size: number,
  settings: Settings,
): Promise<Verified | undefined> {
  const { manifest, sha256 } = settings;
  const proof = manifest?.sha256 ?? sha256;
  if (settings.size !== undefined && settings.size !== size) return undefined;
  if (proof !== undefined) return (await hashFile(target, 'sha-256')) === proof ? 'digest' : undefined;
  const remote = await askAny(url, settings);
  if (remote?.size === undefined)
    throw new Fault('file-invalid', `${target} exists, and nobody tells whether it is ${settings.shownUrl}`, {
      about: target,
      fix: 'Try again later, choose another name, or ask for it to be overwritten.',
    });
  if (remote.size !== size) return undefined;
  if (remote.digest === undefined) return 'size';
  return (await hashFile(target, remote.digest.algorithm)) === remote.digest.hex ? 'digest' : undefined;
}

async function askAny(url: string, settings: Settings) {
  const { locator, clock, policy, signal, tokenFile, connections: kept } = settings;
  const roster = new Roster();
  const connectMs = policy.connectSeconds * 1000;
  const pool = new ConnectionPool({ clock, ca: locator.ca, connectMs, kept });
  try {
    roster.add(
      await locator.locate(url, { signal, ...(tokenFile !== undefined && { tokenFile }) }),
      clock.monotonic(),
    );
    for (const source of roster.sources) {
      const answer = await askObject(source, pool, policy.digestSeconds * 1000, signal);
      if (answer !== undefined) return answer;
    }
    return undefined;
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
