/** The board: counts, verdict and troubles of a run, which are those of `report`. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { imagenetRun } from '../../test/dashboard/imagenet-run.ts';
import { type AgentBody, type Entry, fold, loadRun } from '@updraft/account/journal';
import type { RunEntry } from '@updraft/account/testing';
import { attemptCsv, jobTable, lossColumns, readRun, sections, sumOver } from '@updraft/account/report';
import { formatSeconds } from '@updraft/view/format';
import { sectionHtml } from '@updraft/view/html';
import { withoutEmptyColumns } from '@updraft/view/document';
import { boardOf } from './board.ts';

const standing = { place: '', trouble: null, stop: null, retry: null };
const at = { v: 1, t: '2026-01-01T00:00:00.000Z' } as const;
const created = (jobs: string[]): RunEntry => ({
  ...at,
  seq: 0,
  kind: 'run-created',
  run: 'r-1',
  name: 'r',
  pool: 'local',
  jobs,
  planHash: '',
  version: '1',
});

test('the page knows which metrics there are, in which order, and which way is better', () => {
  const progress: AgentBody = { kind: 'progress', loss: 1, metrics: { val_accuracy: 0.5, 'val/wer': 0.1 } };
  const entries: Entry[] = [
    created(['0000']),
    { ...at, seq: 1, kind: 'attempt-started', job: '0000', attempt: 1, why: '' },
    { ...at, seq: 0, job: '0000', attempt: 1, kind: 'training-started', pid: 1, command: '' },
    { ...at, seq: 1, job: '0000', attempt: 1, ...progress },
  ];
  assert.deepEqual(boardOf(fold(entries), standing, 0).metrics, [
    { name: 'val_accuracy', isLowerBetter: false },
    { name: 'val/wer', isLowerBetter: true },
    { name: 'loss', isLowerBetter: true },
  ]);
  const state = fold(entries);
  const jobs = state.jobs.map((job) => ({ ...job, directions: { smallerIsBetter: ['accuracy'] } }));
  assert.deepEqual(boardOf({ ...state, jobs }, standing, 0).metrics.slice(0, 2), [
    { name: 'val_accuracy', isLowerBetter: true },
    { name: 'val/wer', isLowerBetter: true },
  ]);
});

test('the board shows the figures and tables of the report, whose causes explain all of the loss', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await imagenetRun(folder, Date.now(), 40);
  const state = await loadRun(folder);
  const { wasted, tables, counts, jobs } = boardOf(state, standing, Date.now());
  const { report } = readRun(folder, state);
  const lost = sumOver(report.slotSeconds, lossColumns);
  const explained = report.setbacks.reduce((sum, { lostSeconds }) => sum + lostSeconds, 0);
  assert.equal(Math.round(explained * 1000), Math.round(lost * 1000));
  assert.deepEqual(report.setbacks.map(({ cause }) => cause).toSorted(), [
    'evicted',
    'transfer-stalled',
    'wrong-output',
  ]);
  assert.ok(wasted.headline.startsWith(`${formatSeconds(lost)} of `), wasted.headline);
  for (const section of sections(report).filter(({ id }) => ['time', 'sites', 'caches'].includes(id)))
    assert.ok(tables.includes(sectionHtml(withoutEmptyColumns(section), [])), section.id);
  assert.equal(
    counts.reduce((sum, count) => sum + count.jobs, 0),
    jobs,
  );
});

test('training up to a checkpoint that another attempt resumed from is not waste', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await imagenetRun(folder, Date.now(), 3);
  const { setbacks } = readRun(folder, await loadRun(folder)).report;
  const evicted = setbacks.find(({ cause }) => cause === 'evicted');
  assert.deepEqual([evicted?.attempts, Math.round(evicted?.lostSeconds ?? 0)], [1, 375]);
});

test('time in which a fetch stalled is lost, however the attempt ends', () => {
  const job = '0000';
  const agent = (second: number, body: AgentBody): Entry => ({
    v: 1,
    t: new Date(Date.parse(at.t) + second * 1000).toISOString(),
    seq: second,
    job,
    attempt: 1,
    ...body,
  });
  const fault = { kind: 'transfer-stalled', message: 'nothing came' } as const;
  const state = fold([
    created([job]),
    { ...at, seq: 1, kind: 'attempt-started', job, attempt: 1, why: '' },
    agent(0, { kind: 'phase', phase: 'fetching' }),
    agent(20, { kind: 'fetch-setback', object: 'x', server: 's', fault }),
    agent(30, { kind: 'phase', phase: 'training' }),
  ]);
  const { setbacks, slotSeconds } = readRun('', state).report;
  assert.deepEqual(
    [setbacks[0]?.cause, setbacks[0]?.lostSeconds, slotSeconds.underWay],
    ['transfer-stalled', 20, 10],
  );
  const [trouble] = boardOf(state, standing, 0).wrong;
  assert.deepEqual([trouble?.cause, trouble?.message], ['transfer-stalled', 'nothing came']);
});

test('what a training reports of its speed is in the report, its CSV and on the board', () => {
  const job = '0000';
  const own = { v: 1, t: at.t, seq: 1, job, attempt: 1 } as const;
  const state = fold([
    created([job]),
    { ...at, seq: 1, kind: 'attempt-started', job, attempt: 1, why: '' },
    { ...own, kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: ['NVIDIA H200'] },
    { ...own, kind: 'progress', epoch: 1, copyBytesPerSecond: 55e9 },
    { ...own, kind: 'agent-ended', outcome: 'success', exit: 0 },
    { ...at, seq: 2, kind: 'attempt-ended', job, attempt: 1, outcome: 'success', exit: 0 },
    { ...at, seq: 3, kind: 'job-ended', job, outcome: 'success' },
  ]);
  const { report, ledger, jobs } = readRun('', state);
  assert.equal(report.gpus[0]?.copyBytesPerSecond, 55e9);
  assert.equal(jobTable(jobs, ledger.rows)[0]?.copyBytesPerSecond, 55e9);
  const [head = '', row = ''] = [...attemptCsv(ledger)].map((line) => line.trim().split(','));
  assert.equal(row[head.indexOf('copyBytesPerSecond')], '55000000000');
  assert.match(boardOf(state, standing, 0).tables, /copy to GPU[\s\S]*55 GB\/s/);
});

test('a missing file of the run is reported, with its fix', () => {
  const trouble = { message: 'events.log is gone', fix: 'bring it back' };
  assert.deepEqual(boardOf({ ...fold([created([])]), trouble }, standing, 0).account, trouble);
  assert.equal(boardOf(fold([created([])]), standing, 0).account, null);
});

test('setbacks count for their cache, and rates come from finished fetches only', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await imagenetRun(folder, Date.now(), 8);
  const { caches } = readRun(folder, await loadRun(folder)).report;
  assert.equal(caches.length, 3);
  for (const { bytesPerSecond: rate } of caches) assert.ok(rate !== null && rate > 8e8 && rate < 1e9);
  assert.ok(caches.some(({ setbacks, lastSetback }) => setbacks > 0 && lastSetback === 'transfer-stalled'));
});

test('a held job needs the user, or says that a rule releases it', () => {
  const held = (kind: 'token-missing' | 'transfer-stalled') =>
    boardOf(
      fold([
        created(['0000']),
        { ...at, seq: 1, kind: 'job-held', job: '0000', fault: { kind, message: 'm' } },
      ]),
      standing,
      0,
    );
  assert.equal(held('token-missing').wrong[0]?.cause, 'token-missing');
  assert.match(held('token-missing').doing[0]?.what ?? '', /until you act/);
  assert.match(held('transfer-stalled').doing[0]?.what ?? '', /releases it after a wait/);
});

test('a GPU that is idle while its job trains is named', () => {
  const of = { job: '0000', attempt: 1 };
  const beat = { kind: 'heartbeat', memoryBytes: 0, quietSeconds: 0, gpuPercent: 1 } as const;
  const until = (t: string) =>
    boardOf(
      fold([
        created(['0000']),
        { ...at, ...of, seq: 1, kind: 'attempt-started', why: '' },
        { ...at, ...of, seq: 1, kind: 'phase', phase: 'training' },
        { ...at, ...of, seq: 2, ...beat },
        { ...at, ...of, seq: 3, ...beat, t },
      ]),
      standing,
      Date.parse(t),
    ).wrong.map(({ cause, message }) => [cause, message]);
  assert.deepEqual(until('2026-01-01T00:09:00.000Z'), []);
  assert.deepEqual(until('2026-01-01T00:25:00.000Z'), [['idle-gpu', 'idle for 25m00s']]);
});

test('a run without jobs, and one whose journal lost its start, still have a board', () => {
  assert.equal(boardOf(fold([]), standing, 0).jobs, 0);
  assert.equal(boardOf(fold([created([])]), standing, 0).verdict.tone, 'idle');
  const torn = fold([{ ...at, seq: 1, kind: 'job-ended', job: '0000', outcome: 'lost' }]);
  assert.equal(boardOf(torn, standing, 0).wrong[0]?.cause, 'silent-end');
});

test('a successful run says so, and a stopped one is not called failed', () => {
  const ended = (outcome: 'success' | 'stopped') =>
    boardOf(
      fold([created(['0000']), { ...at, seq: 1, kind: 'job-ended', job: '0000', outcome }]),
      standing,
      0,
    ).verdict;
  assert.deepEqual([ended('success').tone, ended('stopped').tone], ['good', 'idle']);
});
