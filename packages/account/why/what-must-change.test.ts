import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Explanation } from '../diagnosis/explanation.ts';
import { whatMustChange, type Changes } from './what-must-change.ts';

const none: Changes = {
  memory: false,
  disk: false,
  time: false,
  files: { changed: [], used: false },
};
const of = (cause: Explanation['cause'], because = [''], advice: string[] = []): Explanation => ({
  job: '0000',
  standing: 'failed',
  cause,
  title: '',
  because,
  evidence: [],
  doing: [],
  advice,
});

test('a failed training needs a new script, and the answer says whether there is one', () => {
  const need = (files: Partial<Changes['files']>) =>
    whatMustChange(of('training-failed'), { ...none, files: { ...none.files, ...files } });
  assert.match(need({ changed: [], used: false }).what, /fix the script/);
  assert.equal(need({ changed: [], used: false }).isMet, false);
  assert.match(need({ changed: ['train.py'], used: false }).what, /train\.py has changed.*--with-new-files/);
  assert.equal(need({ changed: ['train.py'], used: true }).isMet, true);
});

test('memory, disk and time name their option', () => {
  assert.match(whatMustChange(of('memory-exceeded'), none).what, /--memory/);
  assert.match(whatMustChange(of('disk-full'), none).what, /--disk/);
  assert.match(whatMustChange(of('time-limit'), none).what, /more time, or a checkpoint, .*--time/);
  assert.equal(whatMustChange(of('time-limit'), none).isMet, false);
  assert.equal(whatMustChange(of('time-limit'), { ...none, time: true }).isMet, true);
});

test('a passing failure needs no change, a lasting one needs what its advice says', () => {
  assert.equal(whatMustChange(of('evicted'), none).isMet, true);
  assert.equal(whatMustChange(of('transfer-stalled'), none).isMet, true);
  assert.equal(whatMustChange(of('interrupted'), none).isMet, true);
  const need = whatMustChange(of('input-too-big', [''], ['Use method = "stream".']), none);
  assert.deepEqual(need, { what: 'Use method = "stream".', isMet: undefined });
});

test('--memory does not help a GPU that is too small', () => {
  const { what, isMet } = whatMustChange(of('gpu-memory'), { ...none, memory: true });
  assert.match(what, /GPU memory.*smaller batch.*--with-new-files.*gpu = \{ memory/);
  assert.equal(isMet, false);
});
