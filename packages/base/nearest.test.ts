import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alternatives, nearest } from './nearest.ts';

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

test('few words are all named, of many the nearest', () => {
  assert.equal(alternatives('los', ['loss', 'f1']), 'loss; there are: loss, f1');
  assert.equal(alternatives('zzzzzz', ['loss', 'f1']), 'loss, f1');
  const many = Array.from({ length: 70 }, (_, at) => `optimizer.parameter_${at}`);
  const known = [...many, 'val_accuracy', 'test_accuracy', 'accuracy', 'acuity', 'loss'];
  assert.equal(
    alternatives('Accuracy', known),
    'val_accuracy, test_accuracy, accuracy, acuity or another of the 75',
  );
  assert.equal(alternatives('nope', many), many.join(', '), 'none is near');
});
