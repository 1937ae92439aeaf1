import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aPlan } from '../../../../test/check/facts.ts';
import { durationClass } from './duration-class.ts';
import { condorProfiles } from './profiles.ts';

test('a job gets the shortest class it fits in, GPU jobs those of GPUs where there are such', () => {
  const of = (resources: string, pool: 'ospool' | 'chtc' | 'htcondor') =>
    durationClass(aPlan(`[resources]\n${resources}\n`), condorProfiles[pool])?.name;
  assert.equal(of('time = "9h"', 'ospool'), 'Medium');
  assert.equal(of('time = "11h"', 'ospool'), 'Long');
  assert.equal(of('time = "21h"', 'ospool'), undefined);
  assert.equal(of('gpus = 1', 'chtc'), 'short');
  assert.equal(of('time = "1h"', 'htcondor'), undefined);
});
