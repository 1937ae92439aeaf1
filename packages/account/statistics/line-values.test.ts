import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meanLine, smoothed, heightAt } from './line-values.ts';

test('a line has values between its points, and none beside its ends', () => {
  const line = [1, 10, 3, 20, 4, 0];
  assert.deepEqual(
    [0.9, 1, 2, 3, 3.5, 4, 4.1].map((x) => heightAt(line, x)),
    [undefined, 10, 15, 20, 10, 0, undefined],
  );
  assert.equal(heightAt([], 1), undefined);
  assert.equal(heightAt([2, 5], 2), 5);
});

test('the mean of lines is that of those that reach a place, and its band holds them all', () => {
  const { points, band } = meanLine([
    [1, 1, 2, 2, 3, 3],
    [1, 3, 3, 5],
    [1, 2, 2, 6],
  ]);
  assert.deepEqual(points, [1, 2, 2, 4, 3, 4]);
  assert.deepEqual(band, [1, 1, 2, 2, 3, 3, 3, 5, 2, 6, 1, 3]);
});

test('the mean of many places has fewer, and keeps the last', () => {
  const long = Array.from({ length: 2000 }, (_, index) => index);
  const { points } = meanLine([long]);
  assert.ok(points.length <= 2 * 258);
  assert.deepEqual(points.slice(-2), [1998, 1999]);
});

test('smoothing keeps a constant, starts at the first value, and follows slowly', () => {
  assert.deepEqual(smoothed([1, 5, 2, 5, 3, 5], 0.9), [1, 5, 2, 5, 3, 5]);
  assert.deepEqual(smoothed([1, 0, 2, 3], 0.5), [1, 0, 2, 2]);
  assert.deepEqual(smoothed([1, 0, 2, 3], 0), [1, 0, 2, 3]);
});
