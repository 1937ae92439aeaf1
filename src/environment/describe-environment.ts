import { createHash } from 'node:crypto';
import { defined, given } from '@updraft/base';
import { compareVersions, type LockedPackage, type LockedSet, lockedVirtual } from './pixi-lock.ts';

/** What is in one environment on one platform, and what it needs from the machine. */
export interface EnvironmentFacts {
  environment: string;
  /** As named in the lock; `subdir` is conda's name. */
  platform: string;
  subdir: string;
  /** Identifies the set of packages. */
  hash: string;
  packages: number;
  python?: string;
  torch?: TorchBuild;
  /** CUDA version of its libraries. */
  cuda?: string;
  needs: EnvironmentNeeds;
  /** Total download size. */
  bytes: number;
  /** Packages without a size in the lock, for which a guess is used. */
  guessed: number;
}

/** `declaredCuda` is the CUDA version that the manifest declares. */
export function describeEnvironment(set: LockedSet, declaredCuda?: string): EnvironmentFacts {
  const versionOf = (name: string): string | undefined =>
    set.packages.find((one) => one.kind === 'conda' && one.name === name)?.version;
  const python = versionOf('python');
  const torch = torchBuild(set.packages);
  // A wheel brings CUDA of its own, whatever conda's packages use.
  const cuda = (torch?.from === 'pypi' && torch.cuda) || (versionOf('cuda-version') ?? torch?.cuda);
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

/** A lock does not state the size of wheels; only PyTorch and NVIDIA's libraries matter. */
function guess({ name, version }: LockedPackage): number {
  if (name === 'torch') return version.endsWith('+cpu') ? 200e6 : 900e6;
  if (!name.startsWith('nvidia-')) return 5e6;
  // Of PyTorch 2.15 for CUDA 13, these have 0.2 to 47 MB each, the other eight 135 to 519.
  return /^nvidia-(cuda-|cufile|nvjitlink|nvtx)/.test(name) ? 50e6 : 250e6;
}

/**
 * Identifies the packages of one environment on one platform, whatever their order, the lock's format version and its
 * other environments.
 */
function environmentHash({ platform, packages }: LockedSet): string {
  const lines = packages.map(({ kind, url, sha256, md5 }) => `${kind} ${url} ${sha256 ?? md5 ?? ''}`);
  return createHash('sha256')
    .update(['updraft environment 1', platform.subdir, ...lines.sort()].join('\n'))
    .digest('hex');
}

interface TorchBuild {
  version: string;
  from: 'conda' | 'pypi';
  build: 'gpu' | 'cpu';
  /** CUDA it was built with, like `12.9`; only for a GPU build. */
  cuda?: string;
}

/** Finds PyTorch among the packages; its build string, version or neighbors show whether it is a GPU build. */
function torchBuild(packages: LockedPackage[]): TorchBuild | undefined {
  const conda = packages.find(({ kind, name }) => kind !== 'pypi' && name === 'pytorch');
  if (conda !== undefined) return { version: conda.version, from: 'conda', ...condaBuild(conda.build) };
  const wheel = packages.find(({ kind, name }) => kind === 'pypi' && name === 'torch');
  if (wheel === undefined) return undefined;
  const [version = '', local] = wheel.version.split('+');
  return { version, from: 'pypi', ...wheelBuild(local, packages) };
}

/** conda-forge writes `cuda129_mkl_py313_…` and `cpu_mkl_…`, PyTorch's own channel `py3.10_cuda11.8_cudnn8.7.0_0`. */
function condaBuild(build: string): Pick<TorchBuild, 'build' | 'cuda'> {
  const [, major, minor] = /(?:^|_)cuda(\d{2})\.?(\d+)/.exec(build) ?? [];
  if (major !== undefined) return { build: 'gpu', cuda: `${major}.${minor ?? '0'}` };
  return { build: /(?:^|_)cuda/.test(build) ? 'gpu' : 'cpu' };
}

/** A wheel has `+cu124` or `+cpu`; one from PyPI has neither and comes with or without NVIDIA's libraries. */
function wheelBuild(
  local: string | undefined,
  packages: LockedPackage[],
): Pick<TorchBuild, 'build' | 'cuda'> {
  const [, major, minor] = /^cu(\d{2})(\d+)/.exec(local ?? '') ?? [];
  if (major !== undefined) return { build: 'gpu', cuda: `${major}.${minor ?? '0'}` };
  if (local === 'cpu') return { build: 'cpu' };
  const runtime = packages.find(({ name }) => /^nvidia-cuda-runtime(-cu\d+)?$/.test(name));
  const cuda = /^\d+\.\d+/.exec(runtime?.version ?? '')?.[0];
  if (cuda !== undefined) return { build: 'gpu', cuda };
  return { build: packages.some(({ name }) => name.startsWith('nvidia-')) ? 'gpu' : 'cpu' };
}

/** The minimum GPU and driver, and why. */
interface EnvironmentNeeds {
  /** CUDA version that the driver must support, like `12.0`. */
  cuda?: string;
  /** Compute capability, like 7.5. */
  capability?: number;
  why: string[];
}

interface Rule {
  capability: number;
  /** What in the environment requires it; undefined if the rule does not apply. */
  because: (torch: TorchBuild, cuda: string, cudnn: string | undefined) => string | undefined;
}

const atLeast = (version: string | undefined, minimum: string): boolean =>
  version !== undefined && compareVersions(version, minimum) >= 0;

/** The oldest cards that still work; if several rules apply, the strictest counts. */
const rules: Rule[] = [
  { capability: 7.5, because: (_, cuda) => (atLeast(cuda, '13') ? `CUDA ${cuda}` : undefined) },
  {
    capability: 7.5,
    because: ({ from, version }, cuda) =>
      from === 'pypi' && atLeast(version, '2.11') && atLeast(cuda, '12.8')
        ? `the wheel of PyTorch ${version} for CUDA ${cuda}`
        : undefined,
  },
  {
    capability: 7,
    because: ({ from, version }, cuda) =>
      from === 'pypi' && atLeast(version, '2.8') && atLeast(cuda, '12.8')
        ? `the wheel of PyTorch ${version} for CUDA ${cuda}`
        : undefined,
  },
  { capability: 7, because: (_, __, cudnn) => (atLeast(cudnn, '9.11') ? `cuDNN ${cudnn ?? ''}` : undefined) },
  { capability: 5, because: (_, cuda) => (atLeast(cuda, '12') ? `CUDA ${cuda}` : undefined) },
  { capability: 3.7, because: (_, cuda) => (atLeast(cuda, '11') ? `CUDA ${cuda}` : undefined) },
];

/** What the GPU software in an environment needs; nothing for a CPU build. `declared` is from the manifest. */
function gpuNeeds(
  set: LockedSet,
  torch: TorchBuild | undefined,
  cuda: string | undefined,
  declared: string | undefined,
): EnvironmentNeeds {
  if (torch?.build === 'cpu') return { why: [] };
  const driver = driverNeed(set, cuda, declared);
  const card = cardNeed(set, torch, cuda);
  return {
    ...(driver !== undefined && { cuda: driver.version }),
    ...(card !== undefined && { capability: Number(card.version) }),
    why: given(
      driver !== undefined && `driver for CUDA ${driver.version}: ${driver.because}`,
      card !== undefined && `capability ${card.version}: ${card.because}`,
    ),
  };
}

interface Need {
  version: string;
  because: string;
}

/** The versions of a virtual package that packages require, and the one the platform was locked for. */
function askedOf(virtual: string, { packages, platform }: LockedSet): Need[] {
  const pattern = new RegExp(`^${virtual}\\s+>=?\\s*(\\d+(?:\\.\\d+)?)`);
  const asked = packages.flatMap(({ name, depends, constrains }) =>
    [...depends, ...constrains].flatMap((spec) => {
      const version = pattern.exec(spec)?.[1];
      return version === undefined ? [] : [{ version, because: `${name} requires ${spec}` }];
    }),
  );
  const version = lockedVirtual(platform, virtual);
  return version === undefined
    ? asked
    : [...asked, { version, because: `locked for the platform ${platform.name}` }];
}

function newest(asked: Need[]): Need | undefined {
  const [newestNeed] = asked.sort((a, b) => compareVersions(b.version, a.version));
  return (
    newestNeed && {
      ...newestNeed,
      version: newestNeed.version.includes('.') ? newestNeed.version : `${newestNeed.version}.0`,
    }
  );
}

/** The newest version required; the libraries run on any driver of their major version, but on no older one. */
function driverNeed(
  set: LockedSet,
  cuda: string | undefined,
  declared: string | undefined,
): Need | undefined {
  const asked = askedOf('__cuda', set);
  if (declared !== undefined) asked.push({ version: declared, because: 'the manifest declares it' });
  if (cuda !== undefined)
    asked.push({ version: cuda.split('.')[0] ?? cuda, because: `its libraries are built for CUDA ${cuda}` });
  return newest(asked);
}

function cardNeed(set: LockedSet, torch: TorchBuild | undefined, cuda: string | undefined): Need | undefined {
  const asked = askedOf('__cuda_arch', set);
  const cudnn = set.packages.find(({ name }) =>
    /^(cudnn|libcudnn|nvidia-cudnn(-cu\d+)?)$/.test(name),
  )?.version;
  for (const { capability, because } of rules) {
    const reason = torch && cuda !== undefined ? because(torch, cuda, cudnn) : undefined;
    if (reason !== undefined) asked.push({ version: capability.toFixed(1), because: reason });
  }
  return newest(asked);
}
/** Ways to deliver an environment to the worker. */
export const deliveries = ['pack', 'container', 'install'] as const;
export type Delivery = (typeof deliveries)[number];

/** What an environment needs on a worker, in bytes. */
export interface EnvironmentSize {
  /** Peak disk usage, before any data is there. */
  peakDisk: number;
  /** Disk usage while the training runs. */
  keptDisk: number;
  why: string;
}

/** Size of an unpacked environment relative to its conda packages, and to its archive as one. */
const growth = { packages: 2.5, installed: 4 };
/** Size of a squashed image relative to its packages. */
const imageTimes = 1.2;

/**
 * The disk that an environment needs. The agent splits a self-extracting archive as it arrives, so the archive is on
 * disk once, and its packages a second time while they are unpacked. It takes little memory: 0.3 GB
 * for a pack of 2.7 GB (bench/README.md).
 */
export function sizeEnvironment(
  packageBytes: number,
  delivery: Delivery,
  show: (bytes: number) => string,
  isInstalled = false,
): EnvironmentSize {
  if (delivery === 'container') {
    const image = Math.round(packageBytes * imageTimes);
    return {
      peakDisk: image,
      keptDisk: image,
      why: `an image of about ${show(image)}, used without unpacking`,
    };
  }
  // It is in the workspace, where Pixi keeps it for all runs.
  if (delivery === 'install') return { peakDisk: 0, keptDisk: 0, why: 'installed by Pixi in its workspace' };
  const times = growth[isInstalled ? 'installed' : 'packages'];
  const unpacked = Math.round(packageBytes * times);
  // An installed environment is unpacked as it arrives, or from the file that the scheduler brought.
  const packages = isInstalled ? '' : `+ its packages ${show(packageBytes)} `;
  return {
    peakDisk: (isInstalled ? 1 : 2) * packageBytes + unpacked,
    keptDisk: unpacked,
    why:
      `archive ${show(packageBytes)} ${packages}` +
      `+ unpacked ${show(unpacked)} (estimated at ${times} times)`,
  };
}
