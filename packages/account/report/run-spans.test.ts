/** How the training of one attempt is divided into useful, lost and repeated work. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptHistory } from '../history/history.ts';
import type { FoldedAttempt } from '../journal/state.ts';
import { Adder, countAttempt } from './account.ts';
import { runSpans } from '../journal/complete-job.ts';
import type { AgentState } from '../journal/agent-state.ts';

const start = Date.parse('2026-01-01T00:00:00.000Z');
const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString();

type Tried = 'evicted' | 'failed' | 'success';

/** An attempt of 100 s: 10 fetching, 5 unpacking, 80 training, 1 saving, 4 cleaning. */
function attempt(outcome: Tried, waited = 0, work?: AgentState['work']): FoldedAttempt {
  const millis = {
    queued: 0,
    preparing: 0,
    fetching: 10_000,
    unpacking: 5000,
    training: 80_000,
    saving: 1000,
    returning: 0,
    cleaning: 4000,
    unknown: 0,
  };
  const agent: AgentState = {
    version: '1',
    host: 'h',
    gpus: [],
    startedAt: at(0),
    lastAt: at(100),
    phase: 'cleaning',
    millis,
    fetches: [],
    outputs: [],
    faults: [],
    outcome,
    exit: 0,
    training: { command: 't', waited, waitedBefore: waited / 2 },
    ...(work && { work }),
  };
  return {
    job: '0',
    attempt: 1,
    why: '',
    startedAt: at(0),
    endedAt: at(100),
    outcome,
    phase: 'cleaning',
    agent,
  };
}

/** What it counts as, if its first `used` seconds of training were used. */
function amounts(outcome: Tried, used: number | undefined, waited = 0, work?: AgentState['work']) {
  const logged = {
    number: 1,
    ...runSpans(attempt(outcome, waited, work), 0, used === undefined ? undefined : used * 1000),
    ending: outcome,
    checkpointed: false,
    site: '',
    machine: '',
    gpu: '',
    resources: [],
  };
  const spans = [{ doing: 'training' as const, from: 200_000, to: 300_000 }];
  const next = { ...logged, number: 2, waits: [], spans, ending: 'success' as const };
  const attempts = outcome === 'success' ? [logged] : [logged, next];
  const job = { id: '1', from: 0, to: 300_000, attempts, after: [], outcome: 'success' as const };
  const adder = new Adder();
  countAttempt(job, 0, false, adder.count);
  const all = adder.take();
  const { usefulCompute, lostToEviction, usefulTransfer, unpacking, retriedTransfer } = all;
  const { waitingForData } = all;
  return { usefulCompute, lostToEviction, usefulTransfer, unpacking, retriedTransfer, waitingForData };
}

test('training of an evicted attempt is useful up to the checkpoint that another attempt resumed from', () => {
  assert.deepEqual(amounts('evicted', 44), {
    usefulCompute: 44_000,
    lostToEviction: 36_000,
    usefulTransfer: 10_000,
    unpacking: 5000,
    retriedTransfer: 0,
    waitingForData: 0,
  });
});

test('a checkpoint that no attempt resumed from saves nothing, nor does its data', () => {
  assert.deepEqual(amounts('evicted', undefined), {
    usefulCompute: 0,
    lostToEviction: 80_000,
    usefulTransfer: 0,
    unpacking: 0,
    retriedTransfer: 15_000,
    waitingForData: 0,
  });
});

test('so is training of one that failed: what it saved last is a checkpoint, and no result', () => {
  assert.deepEqual(
    [amounts('failed', 44), amounts('failed', 80)].map(({ usefulCompute }) => usefulCompute),
    [44_000, 80_000],
  );
});

test('a checkpoint at the very end saves the entire training', () => {
  assert.equal(amounts('evicted', 80).lostToEviction, 0);
});

test('success makes all of it useful, but what was done again in another start of the training', () => {
  assert.equal(amounts('success', 44).usefulCompute, 80_000);
  const twice = amounts('success', undefined, 0, { saved: [], discarded: 30_000, until: 30_000 });
  assert.deepEqual([twice.usefulCompute, twice.lostToEviction], [50_000, 30_000]);
});

const byLog = (more: Pick<AttemptHistory, 'waits' | 'spans'>): AttemptHistory => ({
  ...{ number: 1, ending: 'success', checkpointed: false },
  ...{ site: '', machine: '', gpu: '', resources: [], ...more },
});

test('a transfer recorded by both pool and plugin counts once', () => {
  const whole = attempt('success');
  const logged = byLog({ waits: [], spans: [{ doing: 'fetching', from: 0, to: 9000 }] });
  const inputs = (agent: AgentState | undefined): number =>
    runSpans({ ...whole, logged, ...(agent && { agent }) }, 0, undefined)
      .spans.filter(({ doing }) => doing === 'fetching')
      .reduce((sum, { from, to }) => sum + to - from, 0);
  assert.equal(inputs(whole.agent), 19_000);
  assert.equal(inputs(whole.agent && { ...whole.agent, broughtMillis: 8000 }), 11_000);
  assert.equal(inputs(whole.agent && { ...whole.agent, broughtMillis: 9500 }), 10_000);
});

test('what an attempt did whose agent never reported is known from the log', () => {
  const { agent: _silent, ...silent } = attempt('evicted');
  const spans = [
    { doing: 'fetching' as const, from: 5000, to: 9000 },
    { doing: 'training' as const, from: 9000, to: 105_000 },
  ];
  const shifted = [
    { doing: 'fetching', from: 30_000, to: 34_000 },
    { doing: 'training', from: 34_000, to: 130_000 },
  ];
  const logged = byLog({ waits: [], spans });
  assert.deepEqual(runSpans({ ...silent, waitingSince: at(-30), logged }, 0, undefined).spans, shifted);
});

test('of the wait before an attempt, what the log knows as a hold is held', () => {
  const waits = [
    { doing: 'idle' as const, from: 0, to: 5000 },
    { doing: 'held' as const, from: 5000, to: 25_000 },
  ];
  const waitsOf = (more: Partial<FoldedAttempt>) =>
    runSpans({ ...attempt('success'), waitingSince: at(-30), ...more }, 0, undefined).waits;
  assert.deepEqual(waitsOf({ logged: byLog({ waits, spans: [] }) }), [
    { doing: 'held', from: 0, to: 20_000 },
    { doing: 'idle', from: 20_000, to: 30_000 },
  ]);
  assert.deepEqual(waitsOf({}), [{ doing: 'idle', from: 0, to: 30_000 }]);
});

test('waiting for data is not compute; in an attempt without a result it is lost with the data', () => {
  const good = amounts('success', 44, 20);
  assert.deepEqual([good.usefulCompute, good.waitingForData], [50_000, 30_000]);
  const kept = amounts('evicted', 14, 20);
  assert.deepEqual([kept.usefulCompute, kept.lostToEviction, kept.waitingForData], [14_000, 36_000, 30_000]);
  const vain = amounts('evicted', undefined, 20);
  assert.deepEqual([vain.lostToEviction, vain.retriedTransfer, vain.waitingForData], [50_000, 45_000, 0]);
});

test('waiting for data is never longer than the training', () => {
  const { usefulCompute, waitingForData } = amounts('success', 44, 1000);
  assert.deepEqual([usefulCompute, waitingForData], [0, 80_000]);
});
