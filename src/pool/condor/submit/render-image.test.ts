import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../../job/plan.ts';
import { assertOneImageKind, imageInputs, imageLines } from './render-image.ts';

const planOf = (image?: string): Plan => ({ folder: '/p', spec: { environment: { image } } }) as Plan;

for (const [image, lines, old] of [
  ['docker://torch:2', 'container_image = docker://torch:2', '"docker://torch:2"'],
  ['osdf:///p/v1/x.sif', 'container_image = osdf:///p/v1/x.sif', '"osdf:///p/v1/x.sif"'],
  ['my image.sif', 'container_image = condor/inputs/image.sif', '"./image.sif"'],
  ['box', 'container_image = /p/box', '"/p/box"'],
  ['/cvmfs/x/torch', 'container_image = /cvmfs/x/torch', '"/cvmfs/x/torch"'],
] as const)
  test(`the image ${image} is named as the pool's HTCondor expects it`, () => {
    const plan = planOf(image);
    assert.deepEqual(imageLines(plan, '24.0.1'), ['universe = container', lines]);
    assert.deepEqual(imageInputs(plan, '24.0.1'), []);
    assert.deepEqual(imageLines(plan, '9.0.20'), [`MY.SingularityImage = ${old}`]);
    assert.deepEqual(
      imageInputs(plan, '9.0.20'),
      image === 'my image.sif' ? ['condor/inputs/image.sif'] : [],
    );
  });

test('one submission has images of one kind', () => {
  assertOneImageKind([planOf('a.sif'), planOf('osdf:///b.sif')]);
  const mixed = [planOf('a.sif'), planOf('docker://a/b')];
  assert.throws(() => assertOneImageKind(mixed), /several kinds: a \.sif file, from a registry/);
  assert.throws(() => assertOneImageKind([planOf('/cvmfs/x'), planOf()]), /several kinds: a folder, none;?/);
});
