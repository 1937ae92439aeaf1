import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BoardRow } from './page-data.ts';
import { repetitionsOf, spreadOf, valueGroups } from './repetitions.ts';

const row = (id: string, parameters: BoardRow['parameters'], loss?: number): BoardRow => ({
  ...{ id, parameters, state: 'success', tone: loss === undefined ? 'bad' : 'good', where: '', figures: '' },
  ...{ metrics: loss === undefined ? {} : { loss }, note: '', bars: [] },
});
const measured = { name: 'loss', isLowerBetter: true, of: 'last' as const };

test('jobs that differ in a seed alone are one row: their mean, without the seed in its name', () => {
  const rows = [
    row('0000', { lr: 0.1, seed: 1 }, 0.2),
    row('0001', { lr: 1, seed: 1 }),
    row('0002', { lr: 0.1, seed: 2 }, 0.4),
    row('0003', { lr: 1, seed: 2 }, 3),
  ];
  const groups = repetitionsOf(rows, measured);
  assert.deepEqual(
    groups.map(({ row: { name, parameters, metrics, tone }, members }) => [
      ...[name, parameters, Number(metrics['loss']?.toFixed(6)), tone],
      members.map(({ id }) => id),
    ]),
    [
      ['lr=0.1', { lr: 0.1 }, 0.3, 'good', ['0000', '0002']],
      ['lr=1', { lr: 1 }, 3, 'good', ['0001', '0003']],
    ],
  );
  assert.deepEqual(
    groups.map(({ members }) => spreadOf(members, measured)),
    ['0.2 to 0.4', ''],
  );
  assert.equal(repetitionsOf(rows, measured, false).length, 4);
});

test('names that end in seed are seeds, and jobs without one are not repetitions of each other', () => {
  const sizes = (cells: BoardRow['parameters'][]) =>
    repetitionsOf(
      cells.map((cell, at) => row(String(at), cell, at)),
      measured,
    ).map(({ members }) => members.length);
  assert.deepEqual(sizes([{ 'trainer.seed': 1 }, { 'trainer.seed': 2 }]), [2]);
  assert.deepEqual(
    sizes([
      { random_seed: 1, opt: 'sgd' },
      { random_seed: 2, opt: 'sgd' },
    ]),
    [2],
  );
  assert.deepEqual(sizes([{}, {}]), [1, 1]);
  assert.deepEqual(sizes([{ seedling: 1 }, { seedling: 2 }]), [1, 1]);
});

test('few values of a parameter are shown each, and many in ranges with as many values', () => {
  assert.deepEqual(valueGroups([0.1, 'adam', 0.01, 0.1]), [[0.01], [0.1], ['adam']]);
  const drawn = Array.from({ length: 20 }, (_, at) => (at * 7) % 20);
  const groups = valueGroups(drawn);
  assert.deepEqual(
    groups.map((group) => [group[0], group.at(-1), group.length]),
    [
      [0, 2, 3],
      [3, 6, 4],
      [7, 9, 3],
      [10, 12, 3],
      [13, 16, 4],
      [17, 19, 3],
    ],
  );
  assert.deepEqual(valueGroups([]), []);
});
