import type { LockedPackage } from './locked-package.ts';

/** The PyTorch of an environment. */
export interface TorchBuild {
  version: string;
  from: 'conda' | 'pypi';
  build: 'gpu' | 'cpu';
  /** CUDA it was built with, like `12.9`; only of a GPU build. */
  cuda?: string;
}

/** Finds PyTorch among the packages, and tells by its build string, its version or its companions what it can run on. */
export function torchBuild(packages: LockedPackage[]): TorchBuild | undefined {
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

/** A wheel says `+cu124` or `+cpu`; one from PyPI itself says nothing and comes with NVIDIA's libraries, or without. */
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
