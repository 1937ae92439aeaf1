import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import {
  compareVersions,
  type LockedPackage,
  type LockedPlatform,
  lockedVirtual,
  type PixiLock,
  readLock,
  selectLocked,
} from './pixi-lock.ts';
import { describeEnvironment, type EnvironmentFacts } from './describe-environment.ts';
import {
  declaredCuda,
  dependenciesOf,
  type ManifestPlatform,
  type PixiManifest,
  platformsOf,
  readPixiManifest,
} from './read-manifest.ts';

/** A Pixi workspace on this machine. */
export interface Workspace {
  manifestFile: string;
  lockFile: string;
  manifest: PixiManifest;
  lock: PixiLock;
}

/** The path itself if it is a file, else the manifest in that folder. */
export async function findManifest(place: string): Promise<string> {
  const info = await stat(place).catch(() => undefined);
  if (info?.isFile() === true) return place;
  for (const name of info === undefined ? [] : ['pixi.toml', 'pyproject.toml']) {
    const file = path.join(place, name);
    if ((await stat(file).catch(() => undefined))?.isFile() === true) return file;
  }
  throw new Fault('file-invalid', `${place}: no pixi.toml or pyproject.toml found here`, {
    about: place,
    fix: 'name the manifest of a Pixi workspace, or create one with: pixi init',
  });
}

export const lockName = 'pixi.lock';

/** Reads a manifest and the lock beside it. */
export async function loadWorkspace(manifestFile: string): Promise<Workspace> {
  const lockFile = path.join(path.dirname(manifestFile), lockName);
  const manifest = readPixiManifest(await textOf(manifestFile), manifestFile);
  const text = await readFile(lockFile, 'utf8').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const what = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${message}`;
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

/** What is in one environment of a workspace; throws if the lock does not match the manifest. */
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
      fix: 'update the lock with: updraft env lock',
    });
  return describeEnvironment(set, declaredCuda(manifest, environment, set.platform));
}

/**
 * Where a lock does not match its manifest, for one environment and platform: packages that were added since, for
 * example. What only a solver can decide, such as versions, is left to pixi.
 */
export function lockMismatches(
  manifest: PixiManifest,
  lock: PixiLock,
  environment: string,
  platform: string,
): string[] {
  if (!manifest.environments.has(environment))
    return [`the environment "${environment}" is in the lock, but not in ${manifest.file}`];
  const set = selectLocked(lock, environment, platform);
  const platforms = platformsOf(manifest, environment);
  if (!platforms.some(({ name }) => name === set.platform.name))
    return [
      `${manifest.file} has the platforms ${platforms.map(({ name }) => name).join(', ')} ` +
        `for "${environment}", but the lock has ${set.platform.name}`,
    ];
  return dependenciesOf(manifest, environment)
    .filter(({ kind, name }) => !set.packages.some((one) => isPackage(one, kind, name)))
    .map(({ name }) => `${name} is required, but not locked`);
}

/** A PyPI requirement can be met by a conda package, whose PyPI name a lock need not state. */
const isPackage = (one: LockedPackage, kind: 'conda' | 'pypi', name: string): boolean =>
  kind === 'conda'
    ? one.name === name && one.kind !== 'pypi'
    : one.name === name || one.onPypi.includes(name) || (one.kind === 'conda' && one.name.includes(name));

/**
 * Gives the platforms of a lock the names they have in the manifest. Pixi writes platforms with their own virtual
 * packages as `p1`, `p2`, and recognizes them by those packages.
 */
export function namePlatforms(lock: PixiLock, manifest: PixiManifest): PixiLock {
  const named = [...lock.environments].map(([environment, locked]): [string, typeof locked] => {
    const known = platformsOf(manifest, environment);
    const names = new Set(locked.platforms.map(({ name }) => name));
    const free = known.filter(({ name }) => !names.has(name));
    const platforms = locked.platforms.map((platform) =>
      known.some(({ name }) => name === platform.name)
        ? platform
        : { ...platform, name: sameAs(platform, free)?.name ?? platform.name, inLock: platform.name },
    );
    return [environment, { ...locked, platforms }];
  });
  return { ...lock, environments: new Map(named) };
}

/** The one with its subdir; of several, the one with the most virtual packages that all match. */
function sameAs(platform: LockedPlatform, known: ManifestPlatform[]): ManifestPlatform | undefined {
  const alike = known.filter(({ subdir }) => subdir === platform.subdir);
  if (alike.length < 2) return alike[0];
  const said = ({ virtual }: ManifestPlatform): number => Object.keys(virtual).length;
  return alike
    .filter(({ virtual }) => differing(virtual, platform).length === 0)
    .sort((a, b) => said(b) - said(a))[0];
}

/** The virtual packages in which lock and manifest differ; CUDA counts even if the manifest does not state it. */
function differing(virtual: Record<string, string>, locked: LockedPlatform): string[] {
  return [...new Set(['__cuda', '__cuda_arch', ...Object.keys(virtual)])].filter((name) => {
    const [said, found] = [virtual[name], lockedVirtual(locked, name)];
    return said === undefined || found === undefined ? said !== found : compareVersions(said, found) !== 0;
  });
}
