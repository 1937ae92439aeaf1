import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../job/plan.ts';
import { checkProfile, durationClass } from './check-profile.ts';
import { condorProfiles } from './profiles.ts';

function planOf(parts: { data?: object[]; resources?: object; run?: object }): Plan {
  const spec = { resources: { cpus: 1, gpus: 0, ...parts.resources }, run: { project: 'p', ...parts.run } };
  return { files: [], data: parts.data ?? [], spec } as unknown as Plan;
}

const rules = (plan: Plan, name: keyof typeof condorProfiles): string[] =>
  checkProfile(plan, condorProfiles[name]).map(({ level, rule }) => `${level} ${rule}`);

const native = (bytes: number) => ({ name: 'd', url: 'file:///d.tar', method: 'native', expect: { bytes } });

test('more input than the OSPool sends is an error with the figure, and no rule of a plain pool', () => {
  const plan = planOf({ data: [native(6e9)] });
  assert.deepEqual(rules(plan, 'ospool'), ['error native-input']);
  assert.match(checkProfile(plan, condorProfiles.ospool)[0]?.message ?? '', /6 GB .*5\.2 GB .*32/);
  assert.deepEqual(rules(plan, 'htcondor'), []);
  assert.deepEqual(rules(planOf({ data: [native(2e9)] }), 'ospool'), ['warning native-file']);
});

test('one huge object is a warning that says from which size on', () => {
  const plan = planOf({ data: [{ ...native(137e9), method: 'stream', url: 'osdf:///d.tar' }] });
  assert.deepEqual(rules(plan, 'ospool'), ['warning object-size']);
  assert.deepEqual(rules(plan, 'chtc'), ['warning object-size']);
});

test('a job longer than any class of the pool is an error; a shorter one gets the shortest class it fits', () => {
  const hours = (n: number): Plan => planOf({ resources: { timeSeconds: n * 3600 } });
  assert.deepEqual(rules(hours(21), 'ospool'), ['error duration']);
  assert.equal(durationClass(hours(9), condorProfiles.ospool)?.name, 'Medium');
  assert.equal(durationClass(hours(11), condorProfiles.ospool)?.name, 'Long');
  assert.equal(durationClass(planOf({ resources: { gpus: 1 } }), condorProfiles.chtc)?.name, 'short');
});

test('two objects that would arrive under one name are told before they overwrite each other', () => {
  const source = (name: string) => ({
    name,
    url: `osdf:///${name}/x.tar?a=${name}`,
    method: 'osdf',
    expect: {},
  });
  assert.deepEqual(rules(planOf({ data: [source('a'), source('b')] }), 'htcondor'), ['error same-name']);
});

test('the OSPool wants a project and few GPUs', () => {
  const plan = planOf({ resources: { gpus: 4 }, run: { project: undefined } });
  assert.deepEqual(rules(plan, 'ospool'), ['warning gpus', 'warning project']);
});
