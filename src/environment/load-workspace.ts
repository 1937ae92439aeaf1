import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import { describeEnvironment, type EnvironmentFacts } from './describe-environment.ts';
import { lockMismatches, namePlatforms } from './lock-mismatches.ts';
import { type PixiLock, readLock, selectLocked } from './pixi-lock.ts';
import { declaredCuda, type PixiManifest } from './pixi-manifest.ts';
import { readManifest } from './read-manifest.ts';

/** A Pixi workspace on this machine. */
export interface Workspace {
  manifestFile: string;
  lockFile: string;
  manifest: PixiManifest;
  lock: PixiLock;
}

/** The manifest a path means: the file itself, or the one in the folder. */
export async function findManifest(place: string): Promise<string> {
  const info = await stat(place).catch(() => undefined);
  if (info?.isFile() === true) return place;
  for (const name of info === undefined ? [] : ['pixi.toml', 'pyproject.toml']) {
    const file = path.join(place, name);
    if ((await stat(file).catch(() => undefined))?.isFile() === true) return file;
  }
  throw new Fault('file-invalid', `${place}: there is no pixi.toml and no pyproject.toml here`, {
    about: place,
    fix: 'name the manifest of a Pixi workspace, or make one with: pixi init',
  });
}

/** Reads a manifest and the lock beside it. */
export async function loadWorkspace(manifestFile: string): Promise<Workspace> {
  const lockFile = path.join(path.dirname(manifestFile), 'pixi.lock');
  const manifest = readManifest(await textOf(manifestFile), manifestFile);
  const text = await readFile(lockFile, 'utf8').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const what = code === 'ENOENT' ? 'is not there' : `cannot be read: ${message}`;
    throw new Fault('file-invalid', `${lockFile} ${what}`, {
      about: lockFile,
      fix: 'write it with: updraft env lock',
      cause: error,
    });
  });
  const lock = namePlatforms(readLock(text, lockFile), manifest);
  return { manifestFile, lockFile, manifest, lock };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Fault('file-invalid', `${file} cannot be read: ${(error as Error).message}`, {
      about: file,
      cause: error,
    });
  }
}

/** What is in one environment of a workspace; throws where the lock is not one of the manifest. */
export function describeLocked(
  { manifest, lock }: Workspace,
  environment: string,
  platform: string,
): EnvironmentFacts {
  const set = selectLocked(lock, environment, platform);
  const wrong = lockMismatches(manifest, lock, environment, platform);
  if (wrong.length > 0)
    throw new Fault('file-invalid', `${lock.file} does not match ${manifest.file}: ${wrong.join('; ')}`, {
      about: lock.file,
      fix: 'write the lock again with: updraft env lock',
    });
  return describeEnvironment(set, declaredCuda(manifest, environment, set.platform));
}
