import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from './clock.ts';
import { isGone, unlessGone } from './error-reason.ts';
import { livenessOf, type ProcessIdentity } from './process-identity.ts';

/** Held by one process at a time; freed when its holder dies. */
export interface Lease {
  release(): Promise<void>;
}

interface Generation {
  number: number;
  /** Undefined once released. */
  holder: ProcessIdentity | undefined;
}

/** Old generations stay for a while: a concurrent reader of the folder must not miss all of them. */
const keptGenerations = 8;
const waitMs = 20;

/**
 * Takes the lease of a folder; undefined if a living process holds it. Each holder is a numbered file, created
 * exclusively after the highest one, and the highest is never removed: of many that find a dead holder, one creates the
 * next number and the others see it.
 */
export async function acquireLease(folder: string, self: ProcessIdentity): Promise<Lease | undefined> {
  await mkdir(folder, { recursive: true });
  for (;;) {
    const top = await latestGeneration(folder);
    if (top?.holder !== undefined && livenessOf(top.holder) !== 'dead') return undefined;
    const mine = (top?.number ?? 0) + 1;
    if (!(await createExclusive(fileOf(folder, mine), JSON.stringify({ holder: self })))) continue;
    // After a pause between reading and creating, this number may have been used and removed long ago.
    if (Math.max(...(await generationNumbers(folder))) !== mine) {
      await rm(fileOf(folder, mine), { force: true });
      continue;
    }
    await removeBefore(folder, mine);
    return {
      async release() {
        await createExclusive(fileOf(folder, mine + 1), '{}');
      },
    };
  }
}

/** Runs `action` while holding the folder's lease; calls `wait` while another living process holds it. */
export async function withLease<T>(
  folder: string,
  self: ProcessIdentity,
  clock: Clock,
  action: () => Promise<T>,
  wait = () => clock.sleep(waitMs),
): Promise<T> {
  let lease = await acquireLease(folder, self);
  while (lease === undefined) {
    await wait();
    lease = await acquireLease(folder, self);
  }
  try {
    return await action();
  } finally {
    await lease.release();
  }
}

/** Who holds or last held the lease; undefined if it was released or never taken. */
export async function leaseHolder(folder: string): Promise<ProcessIdentity | undefined> {
  return (await latestGeneration(folder))?.holder;
}

async function latestGeneration(folder: string): Promise<Generation | undefined> {
  for (;;) {
    const all = await generationNumbers(folder);
    if (all.length === 0) return undefined;
    const number = Math.max(...all);
    try {
      const text = await readFile(fileOf(folder, number), 'utf8');
      return { number, holder: (JSON.parse(text) as { holder?: ProcessIdentity }).holder };
    } catch (error) {
      // Superseded and removed since the folder was read.
      if (!isGone(error)) throw error;
    }
  }
}

async function generationNumbers(folder: string): Promise<number[]> {
  const names = await namesIn(folder);
  return names.filter((name) => /^\d+\.json$/.test(name)).map((name) => Number.parseInt(name, 10));
}

const namesIn = async (folder: string): Promise<string[]> => (await unlessGone(readdir(folder))) ?? [];

/** Removes old generations, and drafts of processes that were too late or killed while writing. */
async function removeBefore(folder: string, top: number): Promise<void> {
  for (const name of await namesIn(folder)) {
    const limit = name.endsWith('.draft') ? top + 1 : top - keptGenerations;
    if (Number.parseInt(name, 10) < limit) await rm(path.join(folder, name), { force: true });
  }
}

const fileOf = (folder: string, number: number): string => path.join(folder, `${number}.json`);

/**
 * Atomically creates a file that must not exist yet: of many concurrent callers exactly one gets `true`, and no one
 * reads half a file.
 */
export async function createExclusive(file: string, text: string): Promise<boolean> {
  const draft = `${file}.${randomBytes(6).toString('hex')}.draft`;
  try {
    {
      await using handle = await open(draft, 'wx', 0o644);
      await handle.writeFile(text);
      await handle.sync();
    }
    return await linkExclusive(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

async function linkExclusive(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    // A removed draft was too late: another process has created a higher number.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || isGone(error)) return false;
    throw error;
  }
}
