import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detectMachine, visibleGpus } from './machine.ts';

const listing = '0, GPU-6e9a1c0e-0000-4f0c-8a52-4d6f1b3a2c10\n1, GPU-77aa1c0e-1111-4f0c-8a52-4d6f1b3a2c11\n';

test('a machine has at least one CPU and some memory, and without a driver no GPU', async () => {
  const machine = await detectMachine({ PATH: '/nonexistent' });
  assert.ok(machine.cpus >= 1);
  assert.ok(machine.memoryBytes > 2 ** 20);
  assert.deepEqual(machine.gpus, []);
});

test('GPUs are named by UUID, because their numbers differ between tools', () => {
  assert.equal(visibleGpus(listing, undefined).length, 2);
  assert.match(visibleGpus(listing, undefined)[0]!, /^GPU-6e9a/);
});

test("the user's CUDA_VISIBLE_DEVICES is respected, by number or by UUID", () => {
  assert.match(visibleGpus(listing, '1')[0]!, /^GPU-77aa/);
  assert.equal(visibleGpus(listing, 'GPU-6e9a1c0e-0000-4f0c-8a52-4d6f1b3a2c10,7').length, 1);
  assert.deepEqual(visibleGpus(listing, ''), []);
});

test('only GPU lines count', () => {
  assert.deepEqual(visibleGpus('No devices were found\n', undefined), []);
});
