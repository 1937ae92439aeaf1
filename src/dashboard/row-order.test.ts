import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BoardRow } from './page-data.ts';
import { bestFirst, divergedText, firstOrder, measuredBy, sortRows } from './row-order.ts';

const row = (
  id: string,
  metrics: BoardRow['metrics'],
  parameters: BoardRow['parameters'] = {},
): BoardRow => ({
  ...{ id, metrics, parameters, state: 'success', tone: 'good', where: '', figures: '', note: '', bars: [] },
});
const rows = [
  row('0000', { accuracy: 0.5, loss: 2 }, { net: 'v10' }),
  row('0001', {}, { net: 'v2' }),
  row('0002', { accuracy: 0.9, loss: 1 }, { net: 'v2' }),
];
const ids = (sorted: BoardRow[]): string[] => sorted.map(({ id }) => id);

test('metrics start with the best, by their direction, and jobs without one come last either way', () => {
  const metrics = [
    { name: 'accuracy', isLowerBetter: false },
    { name: 'loss', isLowerBetter: true },
  ];
  const by = (name: string) => ({ ...metrics.find((one) => one.name === name)!, of: 'last' as const });
  const first = (name: string) => sortRows(rows, firstOrder('metric', '', by(name)), by(name));
  assert.deepEqual(ids(first('accuracy')), ['0002', '0000', '0001']);
  assert.deepEqual(ids(first('loss')), ['0002', '0000', '0001']);
  assert.deepEqual(ids(sortRows(rows, { of: 'metric', name: '', descending: true }, by('loss'))), [
    '0000',
    '0002',
    '0001',
  ]);
  assert.deepEqual(ids(bestFirst(rows, { ...metrics[0]!, of: 'last' })), ['0002', '0000']);
});

test('jobs are ranked by their last or their best values; where these are the same, only the last is known', () => {
  const [first, , last] = rows;
  const peaked = [{ ...first!, best: { accuracy: 0.95 } }, last!];
  const accuracy = { name: 'accuracy', isLowerBetter: false };
  assert.deepEqual(ids(bestFirst(peaked, { ...accuracy, of: 'last' })), ['0002', '0000']);
  assert.deepEqual(ids(bestFirst(peaked, { ...accuracy, of: 'best' })), ['0000', '0002']);
  assert.equal(measuredBy(last!, { ...accuracy, of: 'best' }), 0.9);
});

test('jobs that diverged come last, are counted, and have a rank by their best', () => {
  const loss = { name: 'loss', isLowerBetter: true };
  const diverged = (id: string, end: string) => ({ ...row(id, {}), diverged: { loss: end } });
  const some = [
    { ...diverged('0003', 'NaN'), best: { loss: 0.5 } },
    ...[diverged('0004', 'Infinity'), diverged('0005', 'NaN'), ...rows],
  ];
  const [last, best] = [
    { ...loss, of: 'last' as const },
    { ...loss, of: 'best' as const },
  ];
  assert.deepEqual(ids(bestFirst(some, last)), ['0002', '0000', '0003', '0004', '0005']);
  assert.equal(divergedText(some, last), '2 ended in NaN, 1 ended in Infinity');
  assert.deepEqual(ids(bestFirst(some, best)).slice(0, 2), ['0003', '0002']);
  assert.equal(divergedText(rows, last), '');
});

test('what the run says about a metric decides, not its name', () => {
  const regret = (isLowerBetter: boolean) => bestFirst(rows, { name: 'loss', isLowerBetter, of: 'last' });
  assert.deepEqual(
    [ids(regret(true)), ids(regret(false))],
    [
      ['0002', '0000'],
      ['0000', '0002'],
    ],
  );
});

test('text is sorted as people do, and equal values keep their order', () => {
  const order = firstOrder('parameter', 'net');
  assert.deepEqual(ids(sortRows(rows, order)), ['0001', '0002', '0000']);
  assert.deepEqual(ids(sortRows(rows, { of: 'column', name: 'job', descending: true })), [
    '0002',
    '0001',
    '0000',
  ]);
});
