import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readPixiManifest } from './read-manifest.ts';
import {
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
