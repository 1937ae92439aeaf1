import { compareVersions } from './conda-version.ts';
import { lockedVirtual, type LockedSet } from './pixi-lock.ts';
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

/** The oldest cards that still run it; of several rules that apply, the strictest counts. */
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

/** What the GPU software in an environment needs; nothing for a CPU build. `declared` is what its manifest asks for. */
export function gpuNeeds(
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
    why: [
      ...(driver === undefined ? [] : [`driver for CUDA ${driver.version}: ${driver.because}`]),
      ...(card === undefined ? [] : [`capability ${card.version}: ${card.because}`]),
    ],
  };
}

interface Need {
  version: string;
  because: string;
}

/** What the packages ask of a virtual package, and what the platform was locked for. */
function askedOf(virtual: string, { packages, platform }: LockedSet): Need[] {
  const pattern = new RegExp(`^${virtual}\\s+>=?\\s*(\\d+(?:\\.\\d+)?)`);
  const asked = packages.flatMap(({ name, depends, constrains }) =>
    [...depends, ...constrains].flatMap((spec) => {
      const version = pattern.exec(spec)?.[1];
      return version === undefined ? [] : [{ version, because: `${name} asks for ${spec}` }];
    }),
  );
  const version = lockedVirtual(platform, virtual);
  return version === undefined
    ? asked
    : [...asked, { version, because: `locked for the platform ${platform.name}` }];
}

function mostOf(asked: Need[]): Need | undefined {
  const [most] = asked.sort((a, b) => compareVersions(b.version, a.version));
  return most && { ...most, version: most.version.includes('.') ? most.version : `${most.version}.0` };
}

/** The newest of all that is asked for; where nobody asks, the libraries run on any driver of their major version. */
function driverNeed(
  set: LockedSet,
  cuda: string | undefined,
  declared: string | undefined,
): Need | undefined {
  const asked = askedOf('__cuda', set);
  if (declared !== undefined) asked.push({ version: declared, because: 'the manifest declares it' });
  if (asked.length === 0 && cuda !== undefined)
    asked.push({ version: cuda.split('.')[0] ?? cuda, because: `its libraries are of CUDA ${cuda}` });
  return mostOf(asked);
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
  return mostOf(asked);
}
