import type { Wanted, WantedSoftware } from './wanted-software.ts';

/** PyTorch and what is built for one version of it. */
const torchWheels = /^(torch|torchvision|torchaudio|torchtext)$/;
const torchConda = /^(pytorch|pytorch-gpu|pytorch-cpu|torch)$/;

const quote = (text: string): string => JSON.stringify(text);
const key = (name: string): string => (/^[\w-]+$/.test(name) ? name : quote(name));

function entry({ name, spec, extras, marker, url }: Wanted, index?: string): string {
  const fields = [
    url === undefined ? `version = ${quote(spec)}` : `url = ${quote(url)}`,
    ...(extras === undefined ? [] : [`extras = [${extras.map(quote).join(', ')}]`]),
    ...(marker === undefined ? [] : [`env-markers = ${quote(marker)}`]),
    ...(index === undefined || url !== undefined ? [] : [`index = ${quote(index)}`]),
  ];
  return `${key(name)} = ${fields.length === 1 && url === undefined ? quote(spec) : `{ ${fields.join(', ')} }`}`;
}

/** A name stands in a manifest once; pip takes the last of several, too. */
const once = (all: readonly Wanted[]): Wanted[] => [...new Map(all.map((one) => [one.name, one])).values()];

const hasTorch = ({ pypi, conda }: WantedSoftware): boolean =>
  pypi.some(({ name }) => name === 'torch') || conda.some(({ name }) => torchConda.test(name));

/** The environments of the manifest, the one for a pool first. */
export const environmentsOf = (software: WantedSoftware): string[] =>
  hasTorch(software) ? ['gpu', 'cpu'] : ['default'];

/** Old releases of PyTorch have no wheels for newer Pythons. */
function pythonOf({ python, pypi, conda }: WantedSoftware): string {
  const torch = [...pypi, ...conda].find(({ name }) => name === 'torch' || torchConda.test(name));
  return python ?? (/^[=~<]*1\./.test(torch?.spec ?? '') ? '3.9.*' : '3.11.*');
}

/** A Pixi manifest with the same packages. With PyTorch it has two environments, so that a CPU job fetches no CUDA. */
export function renderManifest(asked: WantedSoftware, name: string, source: string): string {
  const software = { ...asked, conda: once(asked.conda), pypi: once(asked.pypi) };
  const { conda, pypi, channels } = software;
  const plain = pypi.filter((one) => !torchWheels.test(one.name));
  const lines = [
    `# The software of the training, from ${source}. Made by: updraft env make`,
    '[workspace]',
    `name = ${quote(name)}`,
    `channels = [${[...new Set(['conda-forge', ...channels])].map(quote).join(', ')}]`,
    'platforms = ["linux-64"]',
    '',
    '[dependencies]',
    `python = ${quote(pythonOf(software))}`,
    ...conda.filter((one) => !torchConda.test(one.name)).map((one) => entry(one)),
    ...(plain.length === 0 ? [] : ['', '[pypi-dependencies]', ...plain.map((one) => entry(one))]),
    ...(hasTorch(software) ? torchLines(software) : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** One feature with PyTorch for CPUs, one with its build for CUDA and the driver that this needs. */
function torchLines({ conda, pypi, cuda }: WantedSoftware): string[] {
  const wheels = pypi.filter((one) => torchWheels.test(one.name));
  const [own] = conda.filter((one) => torchConda.test(one.name));
  const [major = '12', minor = '0'] = (cuda ?? '12').split('.');
  const index = (build: string): string => `https://download.pytorch.org/whl/${build}`;
  const feature = (device: 'cpu' | 'gpu', build: string | undefined): string[] => [
    ...(own === undefined
      ? []
      : ['', `[feature.${device}.dependencies]`, entry({ ...own, name: `pytorch-${device}` })]),
    ...(own === undefined || device === 'cpu' ? [] : [`cuda-version = ${quote(`${major}.*`)}`]),
    ...(wheels.length === 0
      ? []
      : [
          '',
          `[feature.${device}.pypi-dependencies]`,
          ...wheels.map((one) => entry(one, build && index(build))),
        ]),
  ];
  return [
    ...feature('cpu', 'cpu'),
    '',
    '# The minimum driver of the workers. Without it the solver would take a CPU build.',
    '[feature.gpu.system-requirements]',
    `cuda = ${quote(major)}`,
    ...feature('gpu', cuda === undefined ? undefined : `cu${major}${minor}`),
    '',
    '[environments]',
    'cpu = ["cpu"]',
    'gpu = ["gpu"]',
  ];
}
