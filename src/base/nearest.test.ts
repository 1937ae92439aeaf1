import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest.ts';

const keys = ['command', 'files', 'outputs', 'check', 'checkpoint'];

test('a mistyped word finds the intended one', () => {
  assert.equal(nearest('comand', keys), 'command');
  assert.equal(nearest('commnad', keys), 'command');
  assert.equal(nearest('output', keys), 'outputs');
  assert.equal(nearest('Files', keys), 'files');
  assert.equal(nearest('chekpoint', keys), 'checkpoint');
});

test('a word that resembles no other finds nothing', () => {
  assert.equal(nearest('walltime', keys), undefined);
  assert.equal(nearest('x', keys), undefined);
  assert.equal(nearest('', keys), undefined);
});
