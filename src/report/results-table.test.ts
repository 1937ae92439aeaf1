import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobTableRow } from './job-table.ts';
import { sectionText } from './report-text.ts';
import { resultsCsv, resultsSection, shortResults, sortResults } from './results-table.ts';

const row = (job: string, lr: number, accuracy: number | undefined, best = accuracy): JobTableRow => ({
  ...{ job, node: null, log: null, outcome: 'success', valid: true, sites: [], attempts: 1 },
  ...{ executeSeconds: 3600, slotBusySeconds: null, transferTotalSeconds: null, lastTransferSeconds: null },
  ...{ stalls: 0, holds: 0, evictions: 0, cause: null, loss: null, accuracy: accuracy ?? null },
  ...{ gpu: null, gpuUse: null, samplesPerSecond: null, epochSeconds: null },
  parameters: { lr },
  metrics: accuracy === undefined ? {} : { accuracy },
  best: best === undefined ? {} : { accuracy: best },
});
const rows = [
  row('0000', 0.1, 0.5, 0.75),
  row('0001', 0.01, NaN),
  row('0002', 0.001, 0.625),
  row('0003', 1, undefined),
];
const names = (sorted: JobTableRow[]): string[] => sorted.map(({ job }) => job);

test('results are sorted by any column; jobs without a value come last', () => {
  assert.deepEqual(names(sortResults(rows, { sort: '-accuracy' })), ['0002', '0000', '0001', '0003']);
  assert.deepEqual(names(sortResults(rows, { sort: 'accuracy', top: 2 })), ['0000', '0002']);
  assert.deepEqual(names(sortResults(rows, { sort: '-best_accuracy', top: 1 })), ['0000']);
  assert.deepEqual(names(sortResults(rows, { sort: 'lr' })), ['0002', '0001', '0000', '0003']);
  assert.throws(() => sortResults(rows, { sort: '-accurcy' }), /no column "accurcy"/);
});

test('the table has parameters, then what it is sorted by, and the best where it is not the last', () => {
  const { head, rows: cells } = resultsSection(rows.slice(0, 1), '-best_accuracy');
  assert.deepEqual(
    head.map(({ title }) => title),
    ['job', 'lr', 'best_accuracy', 'outcome', 'accuracy', 'hours', 'tries'],
  );
  assert.deepEqual(cells, [['0000', '0.1', '0.75', 'success', '0.5', '1', '1']]);
  const lines = [...resultsCsv([{ ...row('0002', 0.001, 0.625), executeSeconds: 5000.1 }])];
  const line = `0002,0.001,success,0.625,${5000.1 / 3600},1\n`;
  assert.deepEqual(lines, ['job,lr,outcome,accuracy,hours,tries\n', line]);
});

test('on a terminal of 80 columns, a long URL leaves room for the metrics', () => {
  const urls = ['cold', 'warm'].map((kind) => `osdf:///ospool/ap40/data/ann/images/train-2026-${kind}.tar`);
  const long = urls.map((url, index) => ({ ...row(`000${index}`, 0.1, 0.5), parameters: { url, lr: 0.1 } }));
  const text = sectionText([shortResults(resultsSection(long))], {
    width: 80,
    glyphs: { done: '#', running: '+', failed: 'x', idle: '.' },
  });
  assert.match(text, /…\S*warm\.tar +0\.1 +success +0\.5/);
  assert.ok(text.split('\n').every((line) => line.length <= 80));
});

test('every column has a name of its own, also where a training reports what it was given', () => {
  const metrics = { lr: 0.05, hours: 2, acc: 0.4, best_acc: 0.6 };
  const odd = { ...row('0000', 0.1, undefined), metrics, best: { ...metrics, acc: 0.5 } };
  const [head, line] = [...resultsCsv([odd])];
  assert.equal(head, 'job,lr,outcome,last_lr,last_hours,acc,best_acc,hours,tries\n');
  assert.equal(line, '0000,0.1,success,0.05,2,0.4,0.6,1,1\n');
  const other = { ...odd, job: '0001', metrics: { ...metrics, lr: 0.01 } };
  assert.deepEqual(names(sortResults([odd, other], { sort: 'last_lr' })), ['0001', '0000']);
});
