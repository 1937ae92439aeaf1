import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linearScale, logScale, shortNumber } from './scale.ts';

test('a logarithmic axis over few decades is labelled between them', () => {
  const texts = (low: number, high: number) => logScale(low, high).ticks.map(({ label }) => label);
  assert.deepEqual(texts(0.1, 2.3), ['0.1', '0.2', '0.5', '1', '2']);
  assert.deepEqual(texts(1e-3, 1e3), ['0.001', '0.01', '0.1', '1', '10', '100', '1000']);
});

test('an axis of whole steps begins and ends with a label', () => {
  const { ticks, place, unit } = linearScale(65, 230, { name: 'minutes', size: 60 }, true);
  assert.deepEqual([ticks[0]?.at, ticks.at(-1)?.at, unit], [0, 1, 'minutes']);
  assert.equal(place(240), 1);
});

test('labels have no long rows of zeros', () => {
  assert.deepEqual([0.00001, 1e7, 0.25, 1234.56, 0, -3].map(shortNumber), [
    '1e-5',
    '1e7',
    '0.25',
    '1235',
    '0',
    '-3',
  ]);
});
