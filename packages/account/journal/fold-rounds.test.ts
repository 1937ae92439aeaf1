/** What rounds, stop requests and canaries make of the state of a run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trialsAtRung } from '../recovery/next-batch.ts';
import { stoppedEarly } from './describe-attempt.ts';
import type { AgentBody, Entry, RunBody, RunEntry } from './entry.ts';
import { fold } from './fold.ts';

const reported = (...bodies: RunBody[]): RunEntry[] =>
  bodies.map((body, seq) => ({
    v: 1,
    t: new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString(),
    seq,
    ...body,
  }));
const created = (...jobs: string[]): RunBody => ({
  kind: 'run-created',
  run: 'r-1',
  name: 'r',
  pool: 'local',
  jobs,
  planHash: '',
  version: '1',
});
const attempt = (job: string, number: number, outcome: 'failed' | 'success' | 'stopped'): RunBody[] => [
  { kind: 'attempt-started', job, attempt: number, why: '' },
  { kind: 'attempt-ended', job, attempt: number, outcome, exit: outcome === 'success' ? 0 : 1 },
  { kind: 'job-ended', job, outcome },
];
const round = (number: number, ...jobs: string[]): RunBody => ({
  kind: 'round-started',
  round: number,
  jobs,
  why: 'retry',
});

test('a job of a new round waits again, and its attempts are numbered after the earlier ones', () => {
  const entries = reported(created('0', '1'), ...attempt('0', 1, 'failed'), ...attempt('1', 1, 'success'));
  assert.notEqual(fold(entries).endedAt, undefined);
  const retried = fold([...entries, ...reported(round(2, '0'))]);
  const [job, other] = retried.jobs;
  assert.equal(retried.endedAt, undefined);
  assert.deepEqual(
    [job?.status, job?.outcome, job?.round, job?.attemptsBefore],
    ['waiting', 'waiting', 2, 1],
  );
  assert.deepEqual([other?.outcome, other?.round], ['success', undefined]);
  const over = fold([...entries, ...reported(round(2, '0'), ...attempt('0', 2, 'success'))]);
  assert.deepEqual([over.tally.success, over.jobs[0]?.attempts.length, over.rounds], [2, 2, 2]);
});

test('a retry clears an earlier stop request, and a later one counts', () => {
  const stopped = reported(
    created('0'),
    { kind: 'stop-requested', jobs: 'all' },
    ...attempt('0', 1, 'stopped'),
    round(2, '0'),
  );
  assert.deepEqual([fold(stopped).stopRequested, fold(stopped).jobs[0]?.stopRequested], [false, false]);
  const again = fold([...stopped, ...reported({ kind: 'stop-requested', jobs: ['0'] })]);
  assert.equal(again.jobs[0]?.stopRequested, true);
});

test('a round that a log repeats changes nothing', () => {
  const journal = reported(created('0'), round(2, '0'), { kind: 'stop-requested', jobs: ['0'] });
  const log = reported(...attempt('0', 1, 'failed'), round(2, '0'));
  const [job] = fold([...journal, ...log]).jobs;
  assert.deepEqual(
    [job?.status, job?.stopRequested, job?.round, job?.attemptsBefore],
    ['waiting', true, 2, 1],
  );
});

test('jobs after a canary wait, and a failed canary ends the run without them', () => {
  const begun = reported(created('0', '1', '2'), { kind: 'canary-set', rungs: [1] });
  assert.deepEqual(
    fold(begun).jobs.map(({ isKeptBack }) => isKeptBack),
    [undefined, true, true],
  );
  const failed = fold([...begun, ...reported(...attempt('0', 1, 'failed'))]);
  assert.notEqual(failed.endedAt, undefined);
  const good = [...begun, ...reported(...attempt('0', 1, 'success'))];
  assert.equal(fold(good).endedAt, undefined);
  const climbed = fold([...good, ...reported(round(2, '1', '2'))]);
  assert.deepEqual(
    climbed.jobs.map(({ isKeptBack, status }) => isKeptBack ?? status),
    ['ended', 'waiting', 'waiting'],
  );
});

test('a job that was held for good waits again once it is released', () => {
  const fault = { kind: 'training-failed', message: 'too little memory' } as const;
  const held = reported(
    created('0'),
    { kind: 'job-held', job: '0', fault },
    { kind: 'job-ended', job: '0', outcome: 'failed' },
  );
  assert.notEqual(fold(held).endedAt, undefined);
  const released = fold([...held, ...reported({ kind: 'job-released', job: '0', why: 'updraft retry' })]);
  assert.deepEqual(
    [released.endedAt, released.jobs[0]?.status, released.jobs[0]?.held],
    [undefined, 'waiting', undefined],
  );
});

const agentBodies = (rung: number, value: number): AgentBody[] => [
  { kind: 'training-started', pid: 1, command: '' },
  { kind: 'rung', rung, at: rung, unit: 'epochs', metric: 'acc', value, seen: 1, better: 0, goesOn: true },
  { kind: 'agent-ended', outcome: 'success', exit: 0, stoppedEarly: true, atRung: rung },
];

/** A trial's attempt that ended at a rung, as its agent and the access point report it. */
const ranToRung = (job: string, attempt: number, rung: number, value: number): Entry[] => [
  ...reported(...([{ kind: 'attempt-started', job, attempt, why: '' }] as const)),
  ...agentBodies(rung, value).map((body, seq): Entry => ({
    v: 1,
    t: '2026-01-01T00:00:00.000Z',
    seq,
    job,
    attempt,
    ...body,
  })),
  ...reported(
    { kind: 'attempt-ended', job, attempt, outcome: 'success', exit: 0 },
    { kind: 'job-ended', job, outcome: 'success' },
  ),
];

test('a trial at its rung waits until a round has judged it, and then has its place among all', () => {
  const first = [
    ...reported(created('0', '1', '2')),
    ...ranToRung('0', 1, 1, 0.9),
    ...ranToRung('1', 1, 1, 0.8),
  ];
  const going = [...first, ...reported(...attempt('2', 1, 'failed').slice(0, 1))];
  assert.deepEqual(trialsAtRung(fold(going).jobs), [], 'another trial is on its way');
  const over = [...going, ...reported(...attempt('2', 1, 'failed').slice(1))];
  const waiting = fold(over);
  assert.equal(waiting.endedAt, undefined, 'one that failed does not end the search');
  assert.deepEqual(
    waiting.jobs.map((job) => [job.status, job.outcome, job.atRung]),
    [
      ['waiting', 'waiting', 1],
      ['waiting', 'waiting', 1],
      ['ended', 'failed', undefined],
    ],
  );
  assert.deepEqual(
    trialsAtRung(waiting.jobs).map(({ id }) => id),
    ['0', '1'],
  );
  const judged = [
    ...over,
    ...reported(
      { kind: 'rung-judged', job: '0', rung: 1, seen: 2, better: 0, goesOn: true },
      { kind: 'rung-judged', job: '1', rung: 1, seen: 2, better: 1, goesOn: false },
      round(2, '0'),
    ),
  ];
  const next = fold(judged);
  assert.deepEqual(
    next.jobs.map((job) => [job.status, job.isKeptBack, stoppedEarly(job)?.better]),
    [
      ['waiting', undefined, undefined],
      ['ended', undefined, 1],
      ['ended', undefined, undefined],
    ],
  );
  assert.deepEqual(trialsAtRung(next.jobs), []);
  const again = fold([...judged, ...ranToRung('0', 2, 2, 0.95)]);
  assert.deepEqual([again.jobs[0]?.atRung, again.endedAt], [2, undefined]);
  const stopped = fold([...over, ...reported({ kind: 'stop-requested', jobs: 'all' })]);
  assert.notEqual(stopped.endedAt, undefined, 'a run that is stopped has no next round');
});
