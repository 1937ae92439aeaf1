import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import {
  compareVersions,
  versionFits,
  type LockedPlatform,
  type LockedSet,
  lockedVirtual,
  type PixiLock,
  readLock,
  selectLocked,
} from './pixi-lock.ts';
import { describeEnvironment, type EnvironmentFacts } from './describe-environment.ts';
import {
  declaredCuda,
  dependenciesOf,
  type Dependency,
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
 * Where a lock does not match its manifest, for one environment and platform. What only a solver can decide is left to
 * pixi: an empty list does not prove a match.
 */
export function lockMismatches(
  manifest: PixiManifest,
  lock: PixiLock,
  environment: string,
  platform: string,
): string[] {
  const outside: string[] = [];
  if (!manifest.environments.has(environment))
    outside.push(`the environment "${environment}" is in the lock, but not in ${manifest.file}`);
  const set = selectLocked(lock, environment, platform);
  const platforms = platformsOf(manifest, environment);
  const declared = platforms.find(({ name }) => name === set.platform.name);
  if (outside.length === 0 && declared === undefined)
    outside.push(
      `${manifest.file} has the platforms ${platforms.map(({ name }) => name).join(', ')} ` +
        `for "${environment}", but the lock has ${set.platform.name}`,
    );
  if (declared !== undefined) outside.push(...otherPlatform(declared, set.platform));
  if (outside.length > 0) return outside;
  return dependenciesOf(manifest, environment, set.platform).flatMap((one) => unmet(one, set));
}

/** Environments and platforms of the manifest that have dependencies but are not in the lock. */
export function notLocked(manifest: PixiManifest, lock: PixiLock): string[] {
  return [...manifest.environments.keys()].flatMap((environment) => {
    const locked = lock.environments.get(environment)?.platforms ?? [];
    return platformsOf(manifest, environment)
      .filter((platform) => !locked.some(({ name }) => name === platform.name))
      .filter((platform) =>
        dependenciesOf(manifest, environment, platform).some(
          ({ name, conditional }) => !name.startsWith('__') && conditional !== true,
        ),
      )
      .map(({ name }) => `"${environment}" is required on ${name}, but not locked`);
  });
}

/** How a platform of the same name differed when it was locked. */
function otherPlatform({ name, subdir, virtual }: ManifestPlatform, locked: LockedPlatform): string[] {
  if (subdir !== locked.subdir)
    return [`the platform ${name} is ${subdir}, but was locked as ${locked.subdir}`];
  // A plain name does not state CUDA: [system-requirements] of any feature may.
  if (name === subdir) return [];
  return differing(virtual, locked).map(
    (one) =>
      `${one === '__cuda' ? 'CUDA' : one} of the platform ${name} is ${virtual[one] ?? 'none'}, ` +
      `but was locked as ${lockedVirtual(locked, one) ?? 'none'}`,
  );
}

function unmet({ kind, name, spec, line, conditional }: Dependency, { packages }: LockedSet): string[] {
  if (name.startsWith('__') || conditional === true) return [];
  const at = line === undefined ? '' : `line ${line}: `;
  // A PyPI requirement can be met by a conda package.
  const named = packages.filter((one) =>
    kind === 'pypi'
      ? one.name === name || one.onPypi.includes(name)
      : one.name === name && one.kind !== 'pypi',
  );
  const [locked] = named;
  if (locked === undefined) {
    const isExcused = kind === 'pypi' && mayBeRenamed(packages, name);
    return isExcused ? [] : [`${at}${name} is required, but not locked`];
  }
  if (locked.version === '' || named.some(({ version }) => versionFits(version, spec) !== false)) return [];
  return [`${at}${name} "${spec}" is required, but ${locked.version} is locked`];
}

/** A lock need not state the PyPI name of a conda package. */
const mayBeRenamed = (packages: LockedSet['packages'], name: string): boolean =>
  packages.some((one) => one.kind === 'conda' && one.name.includes(name));

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
