import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apptainerDefinition, dockerfile } from './image-recipe.ts';
import { hashName } from './pixi-tools.ts';

const input = { manifest: 'pixi.toml', environment: 'gpu', cuda: '12', hash: 'ab'.repeat(32) };

for (const [what, recipe] of [
  ['Dockerfile', dockerfile(input)],
  ['Apptainer definition', apptainerDefinition(input)],
] as const)
  test(`the ${what} installs the locked packages without a GPU, and keeps only the environment, at the same path`, () => {
    assert.match(recipe, /pixi install --locked --environment gpu/);
    assert.match(recipe, /CONDA_OVERRIDE_CUDA=12\b/);
    assert.match(recipe, /(\/opt\/environment\/\.pixi\/envs\/gpu) \1/);
    assert.match(recipe, new RegExp(input.hash));
  });

test('Python modules are compiled into the image, since a job could not store them', () => {
  for (const recipe of [dockerfile(input), apptainerDefinition(input)])
    assert.match(
      recipe,
      /bin\/python -m compileall .*unchecked-hash \/opt\/environment\/\.pixi\/envs\/gpu\/lib/,
    );
});

test('a platform that shares its subdir with others is installed by name', () => {
  const named = { ...input, platform: 'linux-64-cuda' };
  for (const recipe of [dockerfile(named), apptainerDefinition(named)])
    assert.match(recipe, /pixi install --locked --environment gpu --platform linux-64-cuda\b/);
});

test('a CPU environment sets no CONDA_OVERRIDE_CUDA', () => {
  const { cuda, ...cpu } = input;
  assert.equal(cuda, '12');
  assert.doesNotMatch(dockerfile(cpu) + apptainerDefinition(cpu), /CONDA_OVERRIDE_CUDA/);
});

for (const [file, named] of [
  ['environment.sh', 'environment-1a2b3c4d.sh'],
  ['/some/where/hello-gpu.tar', 'hello-gpu-1a2b3c4d.tar'],
  ['environment-1a2b3c4d.sh', 'environment-1a2b3c4d.sh'],
  ['torch-2.7.1.sif', 'torch-2.7.1-1a2b3c4d.sif'],
  ['noending', 'noending-1a2b3c4d'],
] as const)
  test(`${file} is staged as ${named}`, () => {
    assert.equal(hashName(file, `1a2b3c4d${'0'.repeat(56)}`), named);
  });
