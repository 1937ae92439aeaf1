import path from 'node:path';
import { type Env, findProgram } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { type LockedPackage, type LockedPlatform, type LockedSet, yaml } from './pixi-lock.ts';

/** How to install a missing program. */
export const programSources = {
  pixi: 'install Pixi (https://pixi.sh/latest/installation); it needs no administrator rights',
  'pixi-pack': 'install it with: pixi global install pixi-pack',
  'pixi-unpack': 'install it with: pixi global install pixi-unpack',
  apptainer:
    'install Apptainer (https://apptainer.org/docs/admin/main/installation.html), ' +
    'or build where it is installed: on an access point, or in a job',
} as const;

/** The path of a program; throws a Fault that says how to install it. */
export async function needProgram(
  name: keyof typeof programSources,
  what: string,
  env: Env,
): Promise<string> {
  const found = await findProgram([name], env);
  if (found !== undefined) return found;
  throw new Fault('pool-unreachable', `${what} needs ${name}, which is not on the PATH`, {
    fix: programSources[name],
    about: name,
  });
}

/**
 * The lock reduced to one environment on one platform: pixi-pack selects platforms by subdir, and takes any of several
 * that share one.
 */
export function onePlatformLock(
  text: string,
  environment: string,
  { name, inLock = name }: LockedPlatform,
): string {
  const lock = yaml().parse(text, { logLevel: 'error', maxAliasCount: 0 }) as LockDocument;
  const { packages = {}, ...rest } = lock.environments[environment] ?? {};
  return yaml().stringify({
    ...lock,
    ...(lock.platforms && { platforms: lock.platforms.filter((one) => one.name === inLock) }),
    environments: { [environment]: { ...rest, packages: { [inLock]: packages[inLock] } } },
  });
}

interface LockDocument {
  platforms?: { name: string }[];
  environments: Record<string, { packages?: Record<string, unknown> } | undefined>;
}

const isWheel = (url: string): boolean => /\.whl(?:[?#].*)?$/i.test(url);
/** For a conda package built from source, the location follows its name. */
const placeOf = ({ url }: LockedPackage): string => url.replace(/^\S+ @ /, '');
const isLocal = (one: LockedPackage): boolean => !/^[a-z][a-z0-9+.-]*:/i.test(placeOf(one));

/** What each delivery cannot contain. */
const refused = {
  pack: {
    is: (one: LockedPackage): boolean => one.kind === 'source' || (one.kind === 'pypi' && !isWheel(one.url)),
    why: 'is built from source, but a pack holds only conda packages and wheels',
  },
  container: {
    is: (one: LockedPackage): boolean => one.kind !== 'conda' && isLocal(one),
    why: 'comes from a folder on this machine, which the recipe of an image does not copy',
  },
};

/** Refuses an environment with packages that the delivery cannot contain. */
export function refuseSources(
  { environment, packages }: LockedSet,
  delivery: keyof typeof refused,
  file: string,
): void {
  const { is, why } = refused[delivery];
  const found = packages.find(is);
  if (found === undefined) return;
  throw new Fault('file-invalid', `${file}: ${found.name} (${placeOf(found)}) of "${environment}" ${why}`, {
    about: file,
    fix: 'use an environment without it; send your own code with each job, in `files` of [train]',
  });
}

/** `name-1a2b3c4d.sh`: caches keep what they first saw under a name, so it includes part of the content's hash. */
export function hashName(file: string, sha256: string): string {
  const base = path.basename(file);
  const ending = /(?:\.tar)?\.[A-Za-z][A-Za-z0-9]*$/.exec(base)?.[0] ?? '';
  const mark = `-${sha256.slice(0, 8)}`;
  const stem = base.slice(0, base.length - ending.length);
  return stem.endsWith(mark) ? base : `${stem}${mark}${ending}`;
}
