import { nearest } from '../base/nearest.ts';
import { Fault } from '../fault/fault.ts';
import type { LockedPackage } from './locked-package.ts';

/** A platform as a lock names it: since version 7 one subdir can be there more than once, with and without CUDA. */
export interface LockedPlatform {
  name: string;
  /** What the lock calls it, where that is another name than the manifest's. */
  inLock?: string;
  /** `linux-64` */
  subdir: string;
  /** Virtual packages it was solved for, like `__cuda=12.0`. */
  virtual: string[];
}

/** The version of a virtual package that a platform was locked for; of a processor its name, `__archspec=0=x86_64_v3`. */
export const lockedVirtual = ({ virtual }: LockedPlatform, name: string): string | undefined =>
  virtual
    .map((one) => one.split('='))
    .find(([first]) => first === name)
    ?.slice(name === '__archspec' ? 2 : 1)
    .find((part) => part !== '');

export interface LockedEnvironment {
  channels: string[];
  platforms: (LockedPlatform & { packages: Record<string, unknown>[] })[];
}

export interface PixiLock {
  file: string;
  version: number;
  environments: Map<string, LockedEnvironment>;
  packagesOf: (listed: Record<string, unknown>[]) => LockedPackage[];
}

/** One environment of a lock on one platform. */
export interface LockedSet {
  environment: string;
  platform: LockedPlatform;
  channels: string[];
  packages: LockedPackage[];
}

/** Takes an environment on a platform (by its name or its subdir) out of a lock; what is not there is told with the nearest that is. */
export function selectLocked(lock: PixiLock, environment: string, platform: string): LockedSet {
  const found = lock.environments.get(environment);
  if (found === undefined) throw absent(lock.file, 'environment', environment, [...lock.environments.keys()]);
  const names = found.platforms.map(({ name }) => name);
  const one = found.platforms.find(({ name }) => name === platform) ?? onlyOf(lock.file, found, platform);
  if (one === undefined)
    throw absent(lock.file, `platform of the environment "${environment}"`, platform, names);
  const { packages, ...rest } = one;
  return { environment, platform: rest, channels: found.channels, packages: lock.packagesOf(packages) };
}

/** The platform with that subdir, unless there are several. */
function onlyOf(
  file: string,
  { platforms }: LockedEnvironment,
  subdir: string,
): LockedEnvironment['platforms'][number] | undefined {
  const [first, second] = platforms.filter((one) => one.subdir === subdir);
  if (first === undefined || second === undefined) return first;
  throw new Fault('file-invalid', `${file}: "${subdir}" is there as ${first.name} and ${second.name}`, {
    about: file,
    fix: `say which: platform = "${first.name}" in [environment], or --platform ${first.name}`,
  });
}

function absent(file: string, what: string, name: string, known: string[]): Fault {
  const close = nearest(name, known);
  const meant = close === undefined ? '' : `; did you mean "${close}"?`;
  return new Fault('file-invalid', `${file}: there is no ${what} "${name}"${meant}`, {
    about: file,
    fix:
      known.length === 0
        ? 'write the lock again: updraft env lock'
        : `the lock has ${known.join(', ')}; add it to the manifest and run: updraft env lock`,
  });
}
