import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobHistory } from '../history/history.ts';
import { searchCharts, searchReport, searchSections } from './search-report.ts';

const start = Date.UTC(2026, 0, 1);
const at = (second: number): string => new Date(start + second * 1000).toISOString();

/** A trial that begins at a second, and reports at the seconds below at the rungs 1, 2 … */
function trial(
  id: string,
  from: number,
  ends: number[],
  reports: [second: number, value: number][],
  stopped = false,
) {
  const rungs = reports.map(([second, value], rung) => ({
    ...{ rung: rung + 1, at: 3 ** rung, unit: 'epochs', metric: 'loss', value, t: at(second) },
  }));
  const attempts = ends.map((end, index) => ({
    spans: [
      { doing: 'training', from: index === 0 ? 0 : (ends[0]! - from) * 1000 + 5000, to: (end - from) * 1000 },
    ],
    // A later attempt is judged by the report of the first.
    agent: { stoppedEarly: stopped && index === ends.length - 1, training: { rungs } },
  }));
  return { id, from: start + from * 1000, outcome: 'success', attempts } as unknown as JobHistory;
}

const jobs = [
  trial(
    '0000',
    0,
    [100],
    [
      [10, 0.9],
      [30, 0.8],
    ],
  ),
  trial(
    '0001',
    0,
    [20, 45],
    [
      [20, 0.5],
      [40, NaN],
    ],
    true,
  ),
  trial('0002', 50, [60], [[60, 0.7]], true),
];

test('a search has its rungs, who was stopped there, and the best so far over the time on slots', () => {
  const search = searchReport(jobs);
  assert.deepEqual(search, {
    ...{ metric: 'loss', unit: 'epochs' },
    rungs: [
      { rung: 1, at: 1, trials: 3, stopped: 1, best: 0.5 },
      { rung: 2, at: 3, trials: 2, stopped: 1, best: 0.8 },
    ],
    best: [
      { job: '0000', value: 0.9, slotSeconds: 20 },
      { job: '0001', value: 0.5, slotSeconds: 40 },
    ],
    slotSeconds: 150,
  });
  const [section] = searchSections({ search });
  assert.deepEqual(section?.rows, [
    ['1', '1', '3', '1', '0.5'],
    ['2', '3', '2', '1', '0.8'],
  ]);
  assert.deepEqual(section.after, ['The best so far is 0.5, of trial 0001, after 40s on slots.']);
  const [chart] = searchCharts({ search });
  assert.equal(chart?.title, 'Best loss so far');
  assert.match(chart.svg, /^<svg [^>]*of trial 0001/);
});

test('jobs that are no trials have no search', () => {
  const plain = jobs.map((job) => ({ ...job, attempts: [] }));
  assert.equal(searchReport(plain), undefined);
  assert.deepEqual([searchSections({}), searchCharts({})], [[], []]);
});
