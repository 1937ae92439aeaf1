import { compareVersions } from './conda-version.ts';
import type { LockedSet } from './pixi-lock.ts';
import type { TorchBuild } from './torch-build.ts';

/** What a GPU and its driver must be at least, and why. */
export interface EnvironmentNeeds {
  /** Version of CUDA the driver must support, like `12.0`. */
  cuda?: string;
  /** Compute capability, like 7.5. */
  capability?: number;
  why: string[];
}

interface Rule {
  capability: number;
  /** What the environment has that asks for it; undefined where it does not apply. */
  because: (torch: TorchBuild, cuda: string, cudnn: string | undefined) => string | undefined;
}

const atLeast = (version: string | undefined, least: string): boolean =>
  version !== undefined && compareVersions(version, least) >= 0;

/** The oldest cards that still run it; the first rule that applies counts. */
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
  {
    capability: 7,
    because: (_, __, cudnn) => (atLeast(cudnn, '9.11') ? `cuDNN ${cudnn ?? ''}` : undefined),
  },
  { capability: 5, because: (_, cuda) => (atLeast(cuda, '12') ? `CUDA ${cuda}` : undefined) },
  { capability: 3.7, because: (_, cuda) => (atLeast(cuda, '11') ? `CUDA ${cuda}` : undefined) },
];

/** What the GPU build in an environment needs; nothing for a CPU build. `declared` is what its manifest asks for. */
export function gpuNeeds(
  set: LockedSet,
  torch: TorchBuild | undefined,
  cuda: string | undefined,
  declared: string | undefined,
): EnvironmentNeeds {
  if (torch?.build !== 'gpu') return { why: [] };
  const cudnn = set.packages.find(({ name }) =>
    /^(cudnn|libcudnn|nvidia-cudnn(-cu\d+)?)$/.test(name),
  )?.version;
  const rule = cuda === undefined ? undefined : rules.find(({ because }) => because(torch, cuda, cudnn));
  const driver = driverNeed(set, cuda, declared);
  return {
    ...(driver !== undefined && { cuda: driver.version }),
    ...(rule !== undefined && { capability: rule.capability }),
    why: [
      ...(driver === undefined ? [] : [`driver for CUDA ${driver.version}: ${driver.because}`]),
      ...(rule === undefined || cuda === undefined
        ? []
        : [`capability ${rule.capability.toFixed(1)}: ${rule.because(torch, cuda, cudnn) ?? ''}`]),
    ],
  };
}

/** The newest of all that is asked for; where nobody asks, the libraries run on any driver of their major version. */
function driverNeed(
  { packages, platform }: LockedSet,
  cuda: string | undefined,
  declared: string | undefined,
): { version: string; because: string } | undefined {
  const asked = packages.flatMap(({ name, depends, constrains }) =>
    [...depends, ...constrains].flatMap((spec) => {
      const version = /^__cuda\s+>=?\s*(\d+(?:\.\d+)?)/.exec(spec)?.[1];
      return version === undefined ? [] : [{ version, because: `${name} asks for ${spec}` }];
    }),
  );
  const virtual = platform.virtual
    .map((one) => /^__cuda=+(\d+(?:\.\d+)?)/.exec(one)?.[1])
    .find((version) => version !== undefined);
  if (virtual !== undefined)
    asked.push({ version: virtual, because: `locked for the platform ${platform.name}` });
  if (declared !== undefined) asked.push({ version: declared, because: 'the manifest declares it' });
  if (asked.length === 0 && cuda !== undefined)
    asked.push({ version: cuda.split('.')[0] ?? cuda, because: `its libraries are of CUDA ${cuda}` });
  const most = asked.sort((a, b) => compareVersions(b.version, a.version))[0];
  if (most === undefined) return undefined;
  return { ...most, version: most.version.includes('.') ? most.version : `${most.version}.0` };
}
