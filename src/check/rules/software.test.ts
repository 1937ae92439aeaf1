import assert from 'node:assert/strict';
import { test } from 'node:test';
import { someFacts } from '../../../test/check/facts.ts';
import type { SoftwareFact } from '../facts.ts';
import { applyRules } from '@updraft/base';
import { cudaRules, imageRules, softwareRules } from './software.ts';

const sent = {
  'run.sh': '#!/bin/sh\nwget x\nunzip x || true\npython3 train.py\n',
  'train.py': 'import scipy\ndef f():\n    import tqdm\n',
};
const job = 'name = "x"\n[train]\ncommand = "sh run.sh"\noutputs = ["m"]\n';

const image = (tools: string[], has?: string[], cuda?: string): SoftwareFact => ({
  where: 'the image x.sif',
  isImage: true,
  tools: new Set(['sh', 'python3', ...tools]),
  ...(has === undefined
    ? {}
    : { python: { path: '/usr/bin/python3', has: new Set(has), versions: new Map() } }),
  ...(cuda === undefined ? {} : { cuda }),
});
const found = (software: SoftwareFact | undefined) =>
  applyRules(softwareRules, { ...someFacts(job, sent), software });
const shown = (software: SoftwareFact | undefined): string[] =>
  found(software).map(({ level, rule, file, line }) => `${level} ${rule} ${file ?? ''}:${line ?? 0}`);

test('tools and modules that the image lacks are reported at the line that uses them', () => {
  assert.deepEqual(shown(image([], [])), [
    'error tool-missing run.sh:2',
    'warning tool-missing run.sh:3',
    'error module-missing train.py:1',
    'warning module-missing train.py:3',
  ]);
  assert.match(
    found(image([], []))[2]?.message ?? '',
    /`scipy` is not in the image x\.sif \(\/usr\/bin\/python3\)/,
  );
});

test('an image that has everything is no finding; of an unknown one, what many machines lack is named', () => {
  assert.deepEqual(shown(image(['wget', 'unzip'], ['scipy', 'tqdm'])), []);
  assert.deepEqual(shown(undefined), ['warning tool-missing run.sh:3']);
});

test('an image without Python is reported once, not for every module', () => {
  assert.deepEqual(shown(image(['wget', 'unzip'])), ['error module-missing train.py:1']);
});

test('of versions that differ, those of what the job imports are named in one warning', () => {
  const versions = {
    file: 'requirements.txt',
    where: 'on this machine',
    unmet: [
      { name: 'scipy', spec: '>=2', has: '1.10.1' },
      { name: 'jinja2', spec: '==3.1', has: '3.2' },
    ],
  };
  const facts = { ...someFacts(job, { ...sent, 'run.sh': '#!/bin/sh\npython3 train.py\n' }), versions };
  assert.deepEqual(
    applyRules(softwareRules, facts).map(({ level, message }) => `${level} ${message}`),
    ['warning other versions on this machine than requirements.txt wants: scipy 1.10.1 (wanted: >=2)'],
  );
  assert.deepEqual(applyRules(softwareRules, { ...facts, versions: { ...versions, unmet: [] } }), []);
});

function cuda(built: string | undefined, resources: string): string[] {
  const text = `[resources]\n${resources}\n`;
  const facts = { ...someFacts(text), software: image([], [], built) };
  return applyRules(cudaRules, facts).map(({ level, rule }) => `${level} ${rule}`);
}

test('a driver condition below the CUDA of PyTorch is an error across major versions, a warning within one', () => {
  assert.deepEqual(cuda('12.6', 'gpus = 1\ngpu = { cuda = "11.8" }'), ['error cuda']);
  assert.deepEqual(cuda('12.6', 'gpus = 1\ngpu = { cuda = "12.1" }'), ['warning cuda']);
  assert.deepEqual(cuda('12.6', 'gpus = 1\ngpu = { cuda = "12.6" }'), []);
  assert.deepEqual(cuda('12.6', 'gpus = 1\ngpu = { cuda = "13.0" }'), []);
});

test('GPUs without a driver condition, and GPUs for a PyTorch without CUDA, are reported', () => {
  assert.deepEqual(cuda('12.6', 'gpus = 1'), ['warning cuda']);
  assert.deepEqual(cuda('none', 'gpus = 1'), ['error cuda']);
  assert.deepEqual(cuda('none', 'gpus = 0'), []);
  assert.deepEqual(cuda(undefined, 'gpus = 1'), []);
});

test('an image that does not exist is an error', () => {
  const at = (isThere: boolean) =>
    applyRules(imageRules, { ...someFacts(), image: { path: '/x.sif', isThere, bytes: 0 } }).map(
      ({ rule }) => rule,
    );
  assert.deepEqual([at(true), at(false)], [[], ['image-missing']]);
});
