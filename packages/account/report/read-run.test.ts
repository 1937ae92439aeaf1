/** The report of a run by its state: completion, failures, and a row per job. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry, Outcome, RunBody } from '../journal/entry.ts';
import { fold } from '../journal/fold.ts';
import type { AgentState } from '../journal/agent-state.ts';
import type { FaultKind } from '../fault/kinds.ts';
import { attemptCsv } from './ledger.ts';
import { readRun, runReport } from './read-run.ts';
import { runText } from './report-text.ts';
import { reportCharts } from './report-charts.ts';
import { sections } from './sections.ts';

/** A run whose jobs took these numbers of seconds and started together. */
function runOf(jobs: { seconds: number; outcome: Outcome; fault?: FaultKind }[]): Entry[] {
  const entry = (seconds: number, body: RunBody): Entry => ({
    v: 1,
    t: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
    seq: 0,
    ...body,
  });
  const ids = jobs.map((_job, index) => String(index));
  return [
    entry(0, {
      kind: 'run-created',
      run: 'r',
      name: 'r',
      pool: 'local',
      jobs: ids,
      planHash: '',
      version: '',
    }),
    ...jobs.flatMap(({ seconds, outcome, fault }, index) => {
      const job = String(index);
      const record = fault === undefined ? {} : { fault: { kind: fault, message: '' } };
      return [
        entry(5, { kind: 'attempt-started', job, attempt: 1, why: '' }),
        entry(5 + seconds, { kind: 'attempt-ended', job, attempt: 1, outcome, exit: 0, ...record }),
        entry(5 + seconds, { kind: 'job-ended', job, outcome }),
      ];
    }),
  ];
}

test('completion counts the jobs that succeeded, from their first start', () => {
  const times = [10, 20, 30, 40, 1000];
  const jobs = times.map((seconds) => ({ seconds, outcome: 'success' as const }));
  const { completion } = readRun('r', fold(runOf([...jobs, { seconds: 9, outcome: 'failed' }]))).report;
  assert.deepEqual(completion, { meanSeconds: 220, medianSeconds: 30, p95Seconds: 808 });
});

test('failures are counted by cause, the most frequent first; shares add up to 1', () => {
  const { failures, jobs } = readRun(
    'r',
    fold(
      runOf([
        { seconds: 1, outcome: 'success' },
        { seconds: 1, outcome: 'wrong-output', fault: 'wrong-output' },
        { seconds: 1, outcome: 'failed', fault: 'transfer-stalled' },
        { seconds: 1, outcome: 'failed', fault: 'transfer-stalled' },
        { seconds: 1, outcome: 'lost' },
      ]),
    ),
  ).report;
  assert.deepEqual(
    failures.map(({ cause, jobs: count, share }) => [cause, count, share]),
    [
      ['transfer-stalled', 2, 0.5],
      ['silent-end', 1, 0.25],
      ['wrong-output', 1, 0.25],
    ],
  );
  assert.deepEqual([jobs.success, jobs['wrong-output'], jobs.failed], [1, 1, 3]);
});

test('a run without events has a report', () => {
  const empty = readRun('r', fold([])).report;
  assert.deepEqual([empty.usefulShare, empty.completion.meanSeconds, empty.failures], [null, null, []]);
});

test('a job that never started counts from the creation of the run', () => {
  const created = runOf([{ seconds: 1, outcome: 'success' }]).slice(0, 1);
  const { report } = readRun('r', fold(created));
  assert.deepEqual([report.jobs.waiting, report.firstEventAt], [1, '2026-01-01T00:00:00.000Z']);
});

test('tables, charts and the CSV of attempts name jobs by the parameters that differ', () => {
  const state = fold(
    runOf([
      { seconds: 10, outcome: 'success' },
      { seconds: 20, outcome: 'failed', fault: 'training-failed' },
    ]),
  );
  const jobs = state.jobs.map((job, index) => ({
    ...job,
    parameters: { lr: index / 10, epochs: 90 },
    name: `lr=${index / 10}`,
  }));
  const { report, ledger, jobs: histories } = readRun('r', { ...state, jobs });
  const found = sections(report, { all: true });
  const rowsOf = (id: string) => found.find((section) => section.id === id)?.rows.map(([first]) => first);
  assert.deepEqual(rowsOf('slowest'), ['0 lr=0']);
  const charts = reportCharts(histories, ledger, report);
  assert.match(charts.find(({ title }) => title === 'Attempts over time')?.svg ?? '', /1 lr=0\.1/);
  const whole = runReport('r', { ...state, jobs });
  const [row] = whole.attemptRows;
  // So little is not nothing.
  row!.seconds.queued = 0.01;
  const glyphs = { done: '#', running: '+', failed: 'x', idle: '.' };
  const text = runText(whole, [], { width: Infinity, glyphs });
  assert.match(text, /^ {2}0 lr=0 +1 +success +0\.0s +- +10s +10s\n {2}1 lr=0\.1 +1 +failed +5\.0s +20s /m);
  const [head, first] = [...attemptCsv(ledger)];
  assert.match(head ?? '', /,parameters\.lr,parameters\.epochs\n$/);
  assert.match(first ?? '', /,0,90\n$/);
});

test('of a run whose slots were ranked, it is said how much time was at the places above the mean', () => {
  const state = fold(
    runOf([
      { seconds: 30, outcome: 'success' },
      { seconds: 10, outcome: 'failed' },
    ]),
  );
  const at = ['Fast', 'Slow'];
  const jobs = state.jobs.map((job, index) => ({
    ...job,
    attempts: job.attempts.map((attempt) => ({ ...attempt, site: at[index] ?? '', gpu: 'A' })),
  }));
  const place = (site: string, worth: number) => ({ site, gpu: 'A', attempts: 9, worth });
  const notesBy = (...places: ReturnType<typeof place>[]): string[] =>
    runReport('r', { ...state, jobs }, places).notes;
  const ranked = notesBy(place('Fast', 1.5), place('Slow', 0.5), place('', 1.2));
  assert.match(
    ranked.join(),
    /75\.0 % of the slot time was at places above their mean, \d+\.\d % of it useful; else/,
  );
  assert.deepEqual([notesBy(), notesBy(place('', 1.2))], [[], []]);
});

test('of several GPUs at several sites there is a table, with the figures of each and the best first', () => {
  const times = Array.from({ length: 12 }, (_, at) => ({
    seconds: at % 2 === 0 ? 60 : 20,
    outcome: 'success' as const,
  }));
  const state = fold(runOf(times));
  const where = (at: number) => (at % 2 === 0 ? { site: 'Slow', gpu: 'A40' } : { site: 'Fast', gpu: 'H100' });
  const placed = (count: number) =>
    state.jobs.slice(0, count).map((job, at) => ({
      ...job,
      attempts: job.attempts.map((attempt) => {
        const [from, to] = [0, at % 2 === 0 ? 60_000 : 20_000];
        const spans = [
          { doing: 'fetching' as const, from, to: 2000 },
          { doing: 'training' as const, from: 2000, to },
        ];
        const epochSeconds = at % 2 === 0 ? 58 : 9;
        const agent = { training: { pace: { epochSeconds } } } as unknown as AgentState;
        const caches = [{ name: 'c', bytes: 40e6, seconds: 2, setbacks: 0 }];
        return { ...attempt, ...where(at), spans, agent, caches, speed: { epochSeconds, gpuUse: 0.4 } };
      }),
    }));
  const { report } = readRun('r', { ...state, jobs: placed(12) });
  const found = sections(report).find(({ id }) => id === 'places');
  const at = (row: number, head: RegExp): unknown =>
    found?.rows[row]?.[found.columns.findIndex(({ title }) => head.test(title))];
  assert.deepEqual(
    [0, 1].map((row) => [/model/, /site/, /rate/, /GPU use/, /epoch/, /worth/].map((head) => at(row, head))),
    [
      ['H100', 'Fast', '20 MB/s', '40.0 %', '9.0s', '1.71'],
      ['A40', 'Slow', '20 MB/s', '40.0 %', '58s', '0.62'],
    ],
  );
  assert.equal(readRun('r', { ...state, jobs: placed(1) }).report.places, undefined);
});
