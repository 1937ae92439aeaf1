import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlanFrom, whereIn } from '../../../test/check/facts.ts';
import { applyRules } from '@updraft/base';
import type { PlanLimits } from '../facts.ts';
import { limitRules } from './limits.ts';

const ospool: PlanLimits = {
  title: 'the OSPool',
  nativeInputBytes: 5000 * 2 ** 20,
  nativeFileBytes: 1e9,
  recommendedObjectBytes: 10e9,
  maxObjectBytes: 100e9,
  wantsProject: true,
};
const plain: PlanLimits = { title: 'an HTCondor pool', wantsProject: false };

const data = (name: string, url: string, bytes?: number, more = '') =>
  `[data.${name}]\nurl = "${url}"\ninto = "${name}"\n${bytes === undefined ? '' : `expect = { bytes = ${bytes} }\n`}${more}`;
const condor = '[run]\npool = "condor"\nproject = "p"\n';

function found(text: string, limits: PlanLimits, imageBytes?: number) {
  const image = imageBytes === undefined ? undefined : { path: '/x.sif', isThere: true, bytes: imageBytes };
  return applyRules(limitRules, { plan: makePlanFrom(text), limits, where: whereIn(text), image });
}
const rules = (text: string, limits: PlanLimits): string[] => found(text, limits).map(({ rule }) => rule);

test('the 158,783 MB of the benchmark are refused with the figures of its hold, and a method that works', () => {
  const text = data('imagenet', 'file:///d.tar', 158_783 * 2 ** 20) + condor;
  const [only, ...others] = found(text, ospool);
  assert.deepEqual([only?.rule, only?.level, only?.line, others.length], ['native-input', 'error', 6, 0]);
  assert.match(only?.message ?? '', /158,783 MB .*above 5,000 MB \(hold code 32\)/);
  assert.match(only?.fix ?? '', /updraft stage.*osdf:\/\/.*"stream"/);
  assert.deepEqual(rules(text, plain), []);
});

test('just under the limit nothing is refused, and an image that is sent counts, too', () => {
  const text = data('d', 'file:///d.tar', 5000 * 2 ** 20 - 100) + condor;
  assert.deepEqual(rules(text, ospool), ['native-file']);
  const [only] = found(text, ospool, 200);
  assert.equal(only?.rule, 'native-input');
  const [image] = found(condor, ospool, 6e9);
  assert.match(image?.fix ?? '', /the image/);
});

test('a small file from the access point is no finding', () => {
  assert.deepEqual(rules(data('d', 'file:///d.tar', 9e8) + condor, ospool), []);
});

test('one huge object is a warning with the size up to which caches serve well', () => {
  const of = (bytes: number) => found(data('d', 'osdf:///d.tar', bytes) + condor, ospool);
  assert.match(of(137e9)[0]?.message ?? '', /137 GB .*above 100 GB, ask the staff/);
  assert.match(of(20e9)[0]?.message ?? '', /serve well up to 10 GB/);
  assert.deepEqual(of(9e9), []);
});

test('pages that show a file are no data', () => {
  const of = (url: string): string[] => found(data('d', url), plain).map(({ rule }) => rule);
  for (const url of [
    'https://drive.google.com/file/d/1AbC/view?usp=sharing',
    'https://www.dropbox.com/s/x/data.tar?dl=0',
    'https://github.com/a/b/blob/main/data.tar.gz',
    'https://huggingface.co/datasets/a/b/blob/main/data.tar',
  ])
    assert.deepEqual(of(url), ['web-page'], url);
  for (const url of [
    'https://github.com/a/b/raw/main/data.tar.gz',
    'https://drive.google.com/uc?export=download&id=1AbC',
    'https://docs.google.com/spreadsheets/d/1AbC/export?format=csv',
    'https://github.com/a/b/blob/main/data.tar.gz?raw=true',
    'https://github.com/a/b/releases/download/v1/data.tar',
    'https://huggingface.co/datasets/a/b/resolve/main/data.tar',
    'https://www.dropbox.com/s/x/data.tar?dl=1',
    'https://www.kaggle.com/api/v1/datasets/download/a/b',
  ])
    assert.deepEqual(of(url), [], url);
});

test('a folder that nodes hardly see is reported before submission', () => {
  const inFolder = (folder: string, pool: string) => {
    const text = `[run]\npool = "${pool}"\n`;
    const facts = { plan: { ...makePlanFrom(text), folder }, limits: plain, where: whereIn(text) };
    return applyRules(limitRules, facts).map(({ rule }) => rule);
  };
  assert.deepEqual(inFolder('/tmp/a', 'slurm'), ['folder-shared']);
  assert.deepEqual(inFolder('/home/tmp/a', 'slurm'), []);
});

test('two objects that would arrive under one name are an error', () => {
  const two = (method: string) =>
    data('a', 'osdf:///a/x.tar?q=1', undefined, method) +
    data('b', 'osdf:///b/x.tar', undefined, method) +
    condor;
  assert.deepEqual(rules(two('method = "osdf"\n'), plain), ['same-name']);
  assert.deepEqual(rules(two(''), plain), []);
});

test('the OSPool expects a project and few GPUs; a plain pool does not', () => {
  const text = '[resources]\ngpus = 4\n[run]\npool = "condor"\n';
  assert.deepEqual(rules(text, ospool), ['project']);
  assert.deepEqual(rules(text, plain), []);
  assert.deepEqual(rules(condor, ospool), []);
});
