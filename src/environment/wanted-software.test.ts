import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readPixiManifest } from './read-manifest.ts';
import {
  compareSoftware,
  environmentsOf,
  renderManifest,
  readCondaEnvironment,
  readPipRequirements,
  readProjectTables,
  type WantedSoftware,
} from './wanted-software.ts';

const specs = (software: WantedSoftware): string[] => [
  ...(software.python === undefined ? [] : [`python ${software.python}`]),
  ...software.conda.map(({ name, spec }) => `conda ${name} ${spec}`),
  ...software.pypi.map(({ name, spec }) => `${name} ${spec}`),
];

test('pins of requirements.txt are carried over, and what cannot be is named', () => {
  const software = readPipRequirements(`# comment
--extra-index-url https://download.pytorch.org/whl/cu121
torch==2.3.1+cu121   # the GPU build
torchvision==0.18.1
numpy>=1.24,<2 ; python_version >= "3.9"
Scikit_Learn
timm[extra]~=1.0 \\
    --hash=sha256:abc
pywin32; sys_platform == "win32"
-e .
git+https://github.com/a/b.git
x @ https://host/x-1.0-py3-none-any.whl
-r more.txt
`);
  assert.deepEqual(specs(software), [
    'torch ==2.3.1',
    'torchvision ==0.18.1',
    'numpy >=1.24,<2',
    'scikit-learn *',
    'timm ~=1.0',
    'x *',
  ]);
  assert.equal(software.cuda, '12.1');
  assert.deepEqual(
    software.lost.map(({ what }) => what),
    ['-e .', 'git+https://github.com/a/b.git'],
  );
});

test('environment.yml keeps versions, and its CUDA packages become the CUDA version', () => {
  const software = readCondaEnvironment({
    channels: ['pytorch', 'nvidia', 'bioconda', 'defaults'],
    dependencies: [
      'python=3.10',
      'pytorch::pytorch=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0',
      'pytorch-cuda=12.1',
      'numpy>=1.24',
      'pandas==2.0.3',
      'pip',
      { pip: ['timm==0.9.12', '-e .'] },
    ],
  });
  assert.deepEqual(specs(software), [
    'python 3.10.*',
    'conda pytorch 2.1.0.*',
    'conda numpy >=1.24',
    'conda pandas ==2.0.3',
    'timm ==0.9.12',
  ]);
  assert.equal(software.cuda, '12.1');
  assert.deepEqual(software.channels, ['bioconda']);
  assert.match(software.lost.map(({ what }) => what).join(), /channel pytorch,channel nvidia,pytorch build/);
});

test('pyproject.toml is read in the standard form', () => {
  assert.deepEqual(
    specs(
      readProjectTables({ project: { 'requires-python': '>=3.10', dependencies: ['torch>=2', 'numpy'] } }),
    ),
    ['python >=3.10', 'torch >=2', 'numpy *'],
  );
});

test('the dependencies that Poetry keeps are read as ranges of versions', () => {
  const dependencies = {
    python: '^3.8',
    torch: '^1.13.1',
    timm: '~0.9.2',
    numpy: '1.*',
    tiny: '^0.0.3',
    any: '*',
    both: '>=1,<2',
    long: { version: '2.0', markers: 'python_version < "3.9"' },
    mine: { git: 'https://example.org/mine' },
  };
  const software = readProjectTables({ tool: { poetry: { dependencies } } });
  assert.deepEqual(specs(software), [
    ...['python >=3.8,<4', 'torch >=1.13.1,<2', 'timm >=0.9.2,==0.9.*', 'numpy ==1.*'],
    ...['tiny >=0.0.3,<0.0.4', 'any *', 'both >=1,<2', 'long ==2.0'],
  ]);
  assert.deepEqual(
    software.lost.map(({ what }) => what),
    ['mine of Poetry'],
  );
});

/** What differs, and what is not compared, of one line of requirements against an installed version. */
function apart(line: string, version: string, python = '3.11.2'): string {
  const name = /^[\w-]+/.exec(line)?.[0] ?? '';
  const has = new Map([
    ['python', python],
    [name, version],
  ]);
  const { unmet, unread } = compareSoftware(readPipRequirements(line), has);
  return [...unmet.map(() => 'differs'), ...unread.map(() => 'unread')].join() || 'fits';
}

test('installed versions are compared as pip would', () => {
  const cases: [line: string, version: string, answer: string][] = [
    ['torch>=2.6', '1.13.0a0', 'differs'],
    ['torch>=1.13', '1.13.0a0', 'fits'],
    ['torch==2.1.0+cu121', '2.1.0+cpu', 'fits'],
    ['torch>=2.1', '2.1.0.post304', 'fits'],
    ['torch==1.*', '1.13.1', 'fits'],
    ['torch!=1.13.*', '1.13.1', 'differs'],
    ['numpy<2', '2.0.1', 'differs'],
    ['numpy<2', '2.0.0rc1', 'fits'],
    ['numpy==1.24', '1.24.0', 'fits'],
    ['numpy===1.24.2', '1.24.3', 'differs'],
    ['numpy>1.9', '1.10', 'fits'],
    ['numpy~=1.24.1', '1.25.0', 'differs'],
    ['numpy~=1.24', '1.26.4', 'fits'],
    ['numpy~=1.24.1', '1.24.0', 'differs'],
    ['numpy (>=1.21, <1.24)', '1.24.2', 'differs'],
    ['numpy>=2.0rc1', '1.26', 'differs'],
    ['numpy', '0.1', 'fits'],
    ['numpy>=two', '1.26', 'unread'],
    ['numpy>=1', 'unknown', 'unread'],
  ];
  assert.deepEqual(
    cases.map(([line, version]) => [line, version, apart(line, version)]),
    cases,
  );
});

test('a requirement under a marker counts where it holds; another marker is named', () => {
  const old = (marker: string, python?: string): string => apart(`numpy>=2; ${marker}`, '1.26', python);
  assert.equal(old('python_version >= "3.9"'), 'differs');
  assert.equal(old('python_version < "3.9"'), 'fits');
  assert.equal(old("python_version > '3.11'", '3.11.9'), 'fits');
  assert.equal(old('sys_platform == "linux" and python_version >= "3.10"', '3.9.1'), 'fits');
  assert.equal(old('sys_platform != "darwin" or python_version >= "3.10"', '3.9.1'), 'differs');
  assert.equal(old('extra == "dev"'), 'fits');
  assert.equal(old('platform_machine == "arm64"'), 'unread');
  assert.equal(old('(python_version < "3.9") or sys_platform == "linux"'), 'differs');
  assert.equal(old('(python_version >= "3.9")'), 'unread');
});

test('the PyTorch of conda is that of PyPI, and the Python is compared', () => {
  const software = readCondaEnvironment({ dependencies: ['python=3.8', 'pytorch>=2.0', 'scipy=1.10'] });
  const has = new Map([
    ['python', '3.11.2'],
    ['torch', '1.13.0'],
  ]);
  assert.deepEqual(compareSoftware(software, has), {
    unmet: [
      { name: 'python', spec: '3.8.*', has: '3.11.2' },
      { name: 'torch', spec: '>=2.0', has: '1.13.0' },
    ],
    unread: [],
  });
});

test('the manifest has a CPU and a CUDA build of PyTorch, and Pixi tables that can be read', () => {
  const software = readPipRequirements(
    'torch==2.3.1+cu121\ntorchvision==0.18.1+cu121\nnumpy==1.26.4\ntimm[a]\n',
  );
  const text = renderManifest(software, 'mine', 'requirements.txt');
  assert.match(
    text,
    /\[feature\.cpu\.pypi-dependencies\]\ntorch = \{ version = "==2\.3\.1", index = "https:\/\/download\.pytorch\.org\/whl\/cpu" \}/,
  );
  assert.match(
    text,
    /\[feature\.gpu\.pypi-dependencies\]\ntorch = \{ version = "==2\.3\.1", index = "https:\/\/download\.pytorch\.org\/whl\/cu121" \}/,
  );
  const manifest = readPixiManifest(text, 'pixi.toml');
  assert.deepEqual([...manifest.environments.keys()], ['default', 'cpu', 'gpu']);
  assert.deepEqual(manifest.features.get('gpu')?.cuda, ['12']);
  assert.deepEqual(
    manifest.features.get('default')?.dependencies.map(({ kind, name, spec }) => `${kind} ${name} ${spec}`),
    ['conda python 3.11.*', 'pypi numpy ==1.26.4', 'pypi timm *'],
  );
  assert.deepEqual(environmentsOf(software), ['gpu', 'cpu']);
});

test('a PyTorch of conda keeps its version in both builds', () => {
  const software = readCondaEnvironment({ dependencies: ['pytorch=2.1.0', 'cudatoolkit=11.8', 'scipy'] });
  const text = renderManifest(software, 'mine', 'environment.yml');
  assert.match(text, /pytorch-cpu = "2\.1\.0\.\*"/);
  assert.match(
    text,
    /cuda = "11"\n\n\[feature\.gpu\.dependencies\]\npytorch-gpu = "2\.1\.0\.\*"\ncuda-version = "11\.\*"/,
  );
});

test('any requirements make a manifest that can be read', () => {
  const word = fc.constantFrom(
    'torch',
    '==',
    '1.2',
    '[x]',
    ';',
    ' ',
    '@',
    'https://a/b.whl',
    '#',
    '-e',
    '\n',
    '\\',
    '"',
    'numpy',
    '+cu121',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (words) => {
      const software = readPipRequirements(words.join(''));
      readPixiManifest(renderManifest(software, 'x', 'requirements.txt'), 'pixi.toml');
    }),
    { numRuns: 500 },
  );
});
