import { createHash } from 'node:crypto';
import { defined } from '../base/defined.ts';
import { type EnvironmentNeeds, gpuNeeds } from './gpu-needs.ts';
import type { LockedPackage } from './locked-package.ts';
import type { LockedSet } from './pixi-lock.ts';
import { torchBuild, type TorchBuild } from './torch-build.ts';

/** What is in one environment on one platform, and what it asks of the machine. */
export interface EnvironmentFacts {
  environment: string;
  /** As the lock names it; `subdir` is what conda calls it. */
  platform: string;
  subdir: string;
  /** Names the set of packages. */
  hash: string;
  packages: number;
  python?: string;
  torch?: TorchBuild;
  /** CUDA of its libraries. */
  cuda?: string;
  needs: EnvironmentNeeds;
  /** Of all packages as they are downloaded. */
  bytes: number;
  /** How many of them have no size in the lock, so that theirs is a guess. */
  guessed: number;
}

/** `declaredCuda` is what the manifest says the machine has. */
export function describeEnvironment(set: LockedSet, declaredCuda?: string): EnvironmentFacts {
  const versionOf = (name: string): string | undefined =>
    set.packages.find((one) => one.kind === 'conda' && one.name === name)?.version;
  const python = versionOf('python');
  const torch = torchBuild(set.packages);
  const cuda = versionOf('cuda-version') ?? torch?.cuda;
  return {
    environment: set.environment,
    platform: set.platform.name,
    subdir: set.platform.subdir,
    hash: environmentHash(set),
    packages: set.packages.length,
    ...defined({ python, torch, cuda }),
    needs: gpuNeeds(set, torch, cuda, declaredCuda),
    bytes: set.packages.reduce((sum, one) => sum + (one.bytes ?? guess(one)), 0),
    guessed: set.packages.filter(({ bytes }) => bytes === undefined).length,
  };
}

/** A lock does not say how big wheels are; those of PyTorch and of NVIDIA's libraries are what matters. */
function guess({ name, version }: LockedPackage): number {
  if (name === 'torch') return version.endsWith('+cpu') ? 200e6 : 900e6;
  return name.startsWith('nvidia-') ? 250e6 : 5e6;
}

/**
 * A name for the content of one environment on one platform: the same for the same packages, whatever the order
 * they stand in, the version of the lock's format, the other environments of the lock and what else it says of them.
 */
function environmentHash({ platform, packages }: LockedSet): string {
  const lines = packages.map(({ kind, url, sha256, md5 }) => `${kind} ${url} ${sha256 ?? md5 ?? ''}`);
  return createHash('sha256')
    .update(['updraft environment 1', platform.subdir, ...lines.sort()].join('\n'))
    .digest('hex');
}
