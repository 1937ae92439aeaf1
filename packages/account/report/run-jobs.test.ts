/** What a report of a run has beyond its journals: stalls, caches, requests, and who ended a job. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UsedResource } from '../history/history.ts';
import type { AgentBody, Entry, RunBody } from '../journal/entry.ts';
import { fold } from '../journal/fold.ts';
import type { PlannedJob } from '../journal/complete-job.ts';
import type { LoggedAttempt, RunState } from '../journal/state.ts';
import { readRun } from './read-run.ts';
import { sections } from './sections.ts';

const fault = { kind: 'transfer-stalled', message: 'sent nothing for 20 s' } as const;
const [job, attempt] = ['0000', 1];

/** A run of one job whose first server stalls: 20 s of 30 s of fetching are lost; two servers deliver the rest. */
function stalledRun(planned?: PlannedJob, measured?: UsedResource[]): RunState {
  let seq = 0;
  const at = (second: number) => ({
    v: 1 as const,
    t: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
    seq: seq++,
  });
  const run = (second: number, body: RunBody): Entry => ({ ...at(second), ...body });
  const agent = (second: number, body: AgentBody): Entry => ({ ...at(second), job, attempt, ...body });
  const servers = [
    { server: 'cache-b', bytes: 3e9, preferredBy: 'NEAREST_CACHE' },
    { server: 'cache-c', bytes: 1e9 },
  ];
  const leftOut = [{ server: 'cache-d', by: 'the job file', why: 'avoided' } as const];
  const entries = [
    run(0, {
      kind: 'run-created',
      run: 'r',
      name: 'r',
      pool: 'local',
      jobs: [job],
      planHash: '',
      version: '',
    }),
    run(0, { kind: 'attempt-started', job, attempt, why: '' }),
    agent(0, { kind: 'agent-started', version: '', host: 'h', pid: 1, gpus: [] }),
    agent(0, { kind: 'phase', phase: 'fetching' }),
    agent(20, { kind: 'fetch-setback', object: 'x', server: 'cache-a', fault }),
    agent(25, { kind: 'fetch-progress', object: 'x', bytes: 2e9, rate: 1, server: 'cache-b, cache-c' }),
    agent(30, { kind: 'fetched', object: 'x', bytes: 4e9, seconds: 30, verified: 'none', servers, leftOut }),
    agent(30, { kind: 'phase', phase: 'training' }),
    agent(40, { kind: 'heartbeat', memoryBytes: 900e6, quietSeconds: 0 }),
    agent(90, { kind: 'heartbeat', memoryBytes: 400e6, quietSeconds: 0 }),
    agent(100, { kind: 'agent-ended', outcome: 'success', exit: 0 }),
    run(100, { kind: 'attempt-ended', job, attempt, outcome: 'success', exit: 0 }),
    run(100, { kind: 'job-ended', job, outcome: 'success' }),
  ];
  return fold(measured === undefined ? entries : [...entries, loggedWith(measured)], {
    plannedFor: () => planned,
  });
}

/** The same attempt by HTCondor's log, which measured this. */
const loggedWith = (resources: UsedResource[]): LoggedAttempt => ({
  kind: 'attempt-logged',
  job,
  attempt,
  logged: {
    ...{ number: 1, waits: [], spans: [], ending: 'success', checkpointed: false },
    ...{ site: '', machine: '', gpu: '', resources },
  },
});

test('time lost to a stalled server is retried transfer, also in an attempt that succeeds', () => {
  const { slotSeconds, slotTotalSeconds } = readRun('r', stalledRun()).report;
  assert.deepEqual(
    [slotSeconds.retriedTransfer, slotSeconds.usefulTransfer, slotSeconds.usefulCompute, slotTotalSeconds],
    [20, 10, 70, 100],
  );
});

test('each server has its bytes, how often it was given up, and who preferred or avoided it', () => {
  const { report } = readRun('r', stalledRun());
  const { caches } = report;
  const none = { fetches: 0, bytes: 0, share: 0, bytesPerSecond: null, setbacks: 0, coldShare: null };
  const idle = { wanted: null, lastSetback: null, bytesPerSecondNow: 0 };
  const delivered = { ...none, ...idle, fetches: 1 };
  const wanted = 'preferred by NEAREST_CACHE';
  assert.deepEqual(caches, [
    { ...delivered, name: 'cache-b', bytes: 3e9, share: 0.75, bytesPerSecond: 1e8, wanted },
    { ...delivered, name: 'cache-c', bytes: 1e9, share: 0.25, bytesPerSecond: 1e9 / 30 },
    { ...none, ...idle, name: 'cache-a', setbacks: 1, lastSetback: 'transfer-stalled' },
    { ...none, ...idle, name: 'cache-d', wanted: 'avoided by the job file' },
  ]);
  const table = sections(report).find(({ id }) => id === 'caches');
  assert.deepEqual(
    table?.rows.map((row) => row.at(-1)),
    ['preferred by NEAREST_CACHE', '', '', 'avoided by the job file'],
  );
});

test('peak memory is compared with the request, with advice', () => {
  const asked = (memoryBytes: number) =>
    readRun('r', stalledRun({ memoryBytes })).report.resources.map(({ usedMax, suggested, advice }) => [
      usedMax,
      suggested,
      advice,
    ]);
  assert.deepEqual(asked(8e9), [[900, 1125, 'request less']]);
  assert.deepEqual(asked(1e9), [[900, null, 'fits']]);
  assert.deepEqual(asked(5e8), [[900, 1125, 'more used than requested: request more']]);
  assert.deepEqual(readRun('r', stalledRun()).report.resources, []);
});

test("HTCondor's measurement of a resource comes before the agents'", () => {
  const usedOf = (...measured: UsedResource[]) =>
    readRun('r', stalledRun({ memoryBytes: 8e9 }, measured)).report.resources.map(({ name, usedMax }) => [
      name,
      usedMax,
    ]);
  const cpus = { name: 'Cpus', unit: '', usage: 0.4, request: 1 };
  const memory = (usage: number) => ({ name: 'Memory', unit: 'MB', usage, request: 4000 });
  const both = [
    ['Memory', 2000],
    ['Cpus', 0.4],
  ];
  assert.deepEqual(usedOf(memory(2000), cpus), both);
  // The attempt was too short for HTCondor to measure it.
  assert.deepEqual(usedOf(memory(0), cpus), [
    ['Cpus', 0.4],
    ['Memory', 900],
  ]);
});

test('jobs of a stopped run have one cause, with or without an attempt; a removal by a rule has another', () => {
  const at = { v: 1 as const, t: '2026-01-01T00:00:00.000Z', seq: 0 };
  const attempt = 1;
  const removed = (id: string, message: string): Entry[] => {
    const fault = { kind: 'interrupted', message } as const;
    return [
      { ...at, kind: 'attempt-started', job: id, attempt, why: '' },
      { ...at, kind: 'attempt-ended', job: id, attempt, outcome: 'stopped', exit: null, fault },
      { ...at, kind: 'job-ended', job: id, outcome: 'stopped' },
    ];
  };
  const jobs = ['0000', '0001', '0002'];
  const state = fold([
    { ...at, kind: 'run-created', run: 'r', name: 'r', pool: 'condor', jobs, planHash: '', version: '' },
    ...removed('0000', 'updraft stop (by user ada)'),
    { ...at, t: '2026-01-01T00:10:00.000Z', kind: 'job-ended', job: '0001', outcome: 'stopped' },
    ...removed('0002', 'The system macro SYSTEM_PERIODIC_REMOVE expression was true: too many starts'),
  ]);
  const { failures, jobs: counts, lastEventAt } = readRun('r', state).report;
  assert.equal(lastEventAt, '2026-01-01T00:10:00.000Z');
  assert.equal(counts.removed, 3);
  assert.deepEqual(
    failures.map(({ cause, jobs: count }) => [cause, count]),
    [
      ['user', 2],
      ['pool-policy', 1],
    ],
  );
});

/** An attempt that trained 100 s: what it resumed from, and after how many seconds it saved which step. */
interface Tried {
  from?: { savedBy: number; step: number };
  saves?: [second: number, step: number][];
}

/** Seconds of training that were of use, and that were lost, of a job whose last attempt succeeds. */
function useOf(...tries: Tried[]): [useful: number, lost: number] {
  let seq = 0;
  const at = (second: number) => ({
    v: 1 as const,
    t: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
    seq: seq++,
  });
  const plan = { run: 'r', name: 'r', pool: 'local', jobs: [job], planHash: '', version: '' };
  const entries = tries.flatMap(({ from, saves = [] }, index): Entry[] => {
    const [number, begun] = [index + 1, index * 200];
    const agent = (second: number, body: AgentBody): Entry => ({
      ...{ ...at(begun + second), job, attempt: number },
      ...body,
    });
    const isLast = number === tries.length;
    const outcome = isLast ? 'success' : 'evicted';
    const save = { kind: 'checkpoint-saved', files: 1, bytes: 1, sha256: '' } as const;
    return [
      { ...at(begun), kind: 'attempt-started', job, attempt: number, why: '' },
      agent(0, { kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: [] }),
      ...(from === undefined ? [] : [agent(0, { kind: 'checkpoint-restored', ...from })]),
      agent(0, { kind: 'phase', phase: 'training' }),
      agent(0, { kind: 'training-started', pid: 1, command: 't' }),
      ...saves.map(([second, step]) => agent(second, { ...save, step })),
      agent(100, { kind: 'agent-ended', outcome, exit: 0 }),
      { ...at(begun + 100), kind: 'attempt-ended', job, attempt: number, outcome, exit: isLast ? 0 : null },
    ];
  });
  const ended: Entry = { ...at(2000), kind: 'job-ended', job, outcome: 'success' };
  const state = fold([{ ...at(0), kind: 'run-created', ...plan }, ...entries, ended]);
  const { usefulCompute, lostToEviction } = readRun('r', state).report.slotSeconds;
  return [Math.round(usefulCompute), Math.round(lostToEviction)];
}

test('training is of use up to the checkpoint that the successful attempt has, over all attempts between', () => {
  const saves: Tried['saves'] = [
    [40, 4],
    [70, 7],
  ];
  assert.deepEqual(useOf({ saves }, { from: { savedBy: 1, step: 7 } }), [170, 30]);
  // The last checkpoint did not arrive: what was done after the one before is done again.
  assert.deepEqual(useOf({ saves }, { from: { savedBy: 1, step: 4 } }), [140, 60]);
  const second = { from: { savedBy: 1, step: 7 }, saves: [[50, 12]] } satisfies Tried;
  assert.deepEqual(useOf({ saves }, second, { from: { savedBy: 2, step: 12 } }), [220, 80]);
  // What the second one saved is lost, and its own training with it.
  assert.deepEqual(useOf({ saves }, second, { from: { savedBy: 1, step: 7 } }), [170, 130]);
  // The last one started from scratch: nothing of the others is left.
  assert.deepEqual(useOf({ saves }, second, {}), [100, 200]);
});
