import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axisOf, curveAxis, shortNumber } from './axes.ts';

const labels = (values: (string | number | boolean)[]): string[] =>
  axisOf(values).ticks.map(({ label }) => label);

test('values that grow by factors get a logarithmic axis, counts and seeds a linear one', () => {
  assert.equal(axisOf([0.1, 0.001, 0.01]).kind, 'log');
  assert.equal(axisOf([32, 64, 128, 256]).kind, 'log');
  assert.equal(axisOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).kind, 'linear');
  assert.equal(axisOf([0, 0.1, 0.5]).kind, 'linear');
  assert.equal(axisOf([-1, 1000]).kind, 'linear');
});

test('few values are labelled themselves, and evenly spread by a logarithm', () => {
  assert.deepEqual(labels([0.1, 0.001, 0.01]), ['0.001', '0.01', '0.1']);
  const { place } = axisOf([0.1, 0.001, 0.01]);
  assert.deepEqual(
    [0.001, 0.01, 0.1].map((value) => Number(place(value).toFixed(6))),
    [0, 0.5, 1],
  );
});

test('few values of a parameter that would be crowded are at equal distances; those of a metric keep theirs', () => {
  const decades = [1, 0, 0.04, 0.0004, 0.004];
  assert.deepEqual(
    axisOf(decades).ticks.map(({ at, label }) => `${label} at ${at}`),
    ['0 at 0', '0.0004 at 0.25', '0.004 at 0.5', '0.04 at 0.75', '1 at 1'],
  );
  const axis = axisOf([0.8, 0.801, 0.9], true);
  assert.equal(Number(axis.place(0.801).toFixed(2)), 0.01);
  assert.deepEqual(
    axis.ticks.map(({ label }) => label),
    ['0.8', '0.82', '0.84', '0.86', '0.88', '0.9'],
  );
});

test('many values are labelled at round numbers', () => {
  const values = Array.from({ length: 50 }, (_, index) => 0.013 + index * 0.02);
  assert.deepEqual(labels(values), ['0.2', '0.4', '0.6', '0.8']);
});

test('words and switches are categories, in order, and a single one is in the middle', () => {
  assert.deepEqual(labels(['sgd', 'adam', 'sgd']), ['adam', 'sgd']);
  assert.equal(axisOf([true, false]).kind, 'category');
  assert.equal(axisOf(['v10', 'v2', 3]).kind, 'category');
  assert.equal(axisOf(['only']).place('only'), 0.5);
  assert.equal(axisOf([7]).place(7), 0.5);
});

test('one loss that diverged does not flatten the others', () => {
  assert.equal(curveAxis(0.1, 2.3).kind, 'linear');
  const axis = curveAxis(0.1, 1e6);
  assert.equal(axis.kind, 'log');
  assert.ok(axis.place(2.3) > 0.15);
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

test('numbers that a job file writes in its own way are numbers on an axis', () => {
  const axis = axisOf(['1e-05', 0.001, '1.0e-1']);
  assert.equal(axis.kind, 'log');
  assert.deepEqual(
    axis.ticks.map(({ at }) => Math.round(at * 100) / 100),
    [0, 0.5, 1],
  );
});
