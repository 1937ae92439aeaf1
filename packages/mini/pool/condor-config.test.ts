import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gpuScript, sites } from './condor-config.ts';

test('sites advertise the newest CUDA version of their driver as drivers number it', () => {
  const numbers = [...gpuScript(sites).matchAll(/MaxSupportedVersion=(\d+);/g)].map(([, number]) => number);
  assert.deepEqual(numbers, ['12040', '11080']);
});
