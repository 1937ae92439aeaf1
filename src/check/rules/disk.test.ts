import assert from 'node:assert/strict';
import { test } from 'node:test';
import { someFacts } from '../../../test/check/facts.ts';
import { sizeEnvironment } from '../../environment/describe-environment.ts';
import { packName } from '../../job/plan.ts';
import type { PlanFacts } from '../facts.ts';
import { applyRules } from '@updraft/base';
import { diskRules } from './limits.ts';

function found(bytes: number | undefined, disk: string, more: Partial<PlanFacts> = {}, name = 'd.tar.gz') {
  const expect = bytes === undefined ? '' : `expect = { bytes = ${bytes} }\n`;
  const text = `[data.d]\nurl = "osdf:///${name}"\n${expect}[resources]\ndisk = "${disk}"\n`;
  return applyRules(diskRules, { ...someFacts(text), ...more });
}

test('a disk that cannot hold the object is an error with the disk to request', () => {
  const [only, ...others] = found(150e9, '100 GB');
  assert.deepEqual([only?.rule, only?.level, only?.line, others.length], ['disk-too-small', 'error', 9, 0]);
  assert.match(only?.message ?? '', /disk = 100 GB cannot hold: 150 GB needed \(150 GB of data\.d\)/);
  assert.equal(only?.fix, 'set disk = "188 GB" in [resources]');
});

test('a disk that holds the archive but not its contents is a warning that lists every part', () => {
  const [only] = found(10e9, '20 GB');
  assert.deepEqual([only?.rule, only?.level], ['disk-too-small', 'warning']);
  assert.match(
    only?.message ?? '',
    /31 GB needed \(1 GB for outputs, checkpoints and logs .*30 GB for data\.d/,
  );
});

test('an image that is sent takes disk, too', () => {
  const image = { path: '/x.sif', isThere: true, bytes: 8e9 };
  assert.deepEqual(found(1e9, '5 GB', {}), []);
  assert.equal(found(1e9, '5 GB', { image })[0]?.rule, 'disk-too-small');
  assert.equal(found(1e9, '10 GB', { image })[0]?.level, 'warning');
});

test('an image that every job fetches by its URL takes disk, and so does a packed environment', () => {
  assert.equal(found(1e9, '5 GB', { fetchedImageBytes: 8e9 })[0]?.rule, 'disk-too-small');
  const facts = someFacts('[data.d]\nurl = "osdf:///env.sh"\n[resources]\ndisk = "2 GB"\n');
  const pack = { ...facts.plan.data[0]!, name: packName, expect: { bytes: 3e9 } };
  const plan = { ...facts.plan, data: [], environment: { delivery: 'pack' as const, pack } };
  const [only] = applyRules(diskRules, { ...facts, plan });
  assert.match(only?.message ?? '', /disk = 2 GB cannot hold: 3 GB needed \(3 GB of environment\.pack\)/);
});

test('disk = "auto" includes an image, and an image described by a lock counts once', () => {
  const text =
    '[data.d]\nurl = "osdf:///d.tar"\nexpect = { bytes = 148000000000 }\n' +
    '[environment]\nimage = "osdf:///a/torch.sif"\n[run]\npool = "condor"\n';
  const facts = { ...someFacts(text), fetchedImageBytes: 5e9 };
  assert.deepEqual(applyRules(diskRules, facts), []);
  const size = sizeEnvironment(4e9, 'container', String);
  const disk = { bytes: 6e9, why: '' };
  const plan = { ...facts.plan, data: [], disk, environment: { delivery: 'container' as const, size } };
  assert.deepEqual(applyRules(diskRules, { ...facts, plan }), []);
});

test('disk estimated before the size was known is compared with the size from the servers', () => {
  const facts = someFacts('[data.d]\nurl = "osdf:///d.tar.gz"\n');
  const data = facts.plan.data.map((source) => ({ ...source, expect: { bytes: 150e9 } }));
  const [only] = applyRules(diskRules, { ...facts, plan: { ...facts.plan, data } });
  assert.equal(only?.rule, 'disk-too-small');
  assert.match(only.message, /disk = "auto" is 11 GB and cannot hold: 150 GB needed/);
});

test('enough disk, disk = "auto" and data of unknown size are no finding', () => {
  assert.deepEqual(found(10e9, '32 GB'), []);
  assert.deepEqual(found(10e9, 'auto'), []);
  assert.deepEqual(found(undefined, '2 GB'), []);
  assert.deepEqual(found(10e9, '12 GB', {}, 'd.tar'), []);
});
