/** The state of a run from its entries: what each kind of entry changes, and the time of each phase. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AgentBody, AgentEntry, Entry, RunBody, RunEntry } from './entry.ts';
import { fold, RunFold } from './fold.ts';

const time = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const run = (...bodies: [number, RunBody][]): RunEntry[] =>
  bodies.map(([seconds, body], seq) => ({ v: 1, t: time(seconds), seq, ...body }));
const agent = (job: string, attempt: number, ...bodies: [number, AgentBody][]): AgentEntry[] =>
  bodies.map(([seconds, body], seq) => ({ v: 1, t: time(seconds), seq, job, attempt, ...body }));

const created = (...jobs: string[]): RunBody => ({
  kind: 'run-created',
  run: 'r-1',
  name: 'r',
  pool: 'local',
  jobs,
  planHash: '',
  version: '1',
});
const started = (job: string, attempt: number): RunBody => ({
  kind: 'attempt-started',
  job,
  attempt,
  why: '',
});
const ended = (job: string, attempt: number, outcome: 'failed' | 'success' | 'lost'): RunBody => ({
  kind: 'attempt-ended',
  job,
  attempt,
  outcome,
  exit: outcome === 'success' ? 0 : null,
});
const hello: AgentBody = { kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: [] };

test('a job waits, runs, waits again for its next attempt, runs until its results are here, and ends', () => {
  const entries = run(
    [0, created('0')],
    [1, started('0', 1)],
    [2, ended('0', 1, 'failed')],
    [3, started('0', 2)],
    [4, ended('0', 2, 'success')],
    [5, { kind: 'job-ended', job: '0', outcome: 'success', results: 'results/0' }],
  );
  const statuses = entries.map((_entry, index) => fold(entries.slice(0, index + 1)).jobs[0]?.status);
  assert.deepEqual(statuses, ['waiting', 'running', 'waiting', 'running', 'running', 'ended']);
  const state = fold(entries);
  assert.deepEqual([state.endedAt, state.jobs[0]?.outcome], [time(5), 'success']);
});

test('an attempt whose agent has ended is returning until the pool ends it', () => {
  const inPool = (phase: 'preparing' | 'returning'): RunBody => ({
    kind: 'attempt-phase',
    job: '0',
    attempt: 1,
    phase,
  });
  const entries = [
    ...run([0, created('0')], [1, started('0', 1)], [2, inPool('preparing')]),
    ...agent(
      '0',
      1,
      [3, hello],
      [4, { kind: 'phase', phase: 'cleaning' }],
      [5, { kind: 'agent-ended', outcome: 'success', exit: 0 }],
    ),
    ...run([6, inPool('returning')], [7, inPool('preparing')]),
  ];
  const phases = entries.map(
    (_entry, index) => fold(entries.slice(0, index + 1)).jobs[0]?.attempts[0]?.phase,
  );
  assert.deepEqual(phases.slice(-4), ['cleaning', 'returning', 'returning', 'returning']);
});

test('a retry reopens a job and its run, and the time since its end is not waiting', () => {
  const entries = run(
    [0, created('0')],
    [1, started('0', 1)],
    [2, ended('0', 1, 'failed')],
    [3, { kind: 'job-ended', job: '0', outcome: 'failed' }],
    [4, { kind: 'run-ended', succeeded: 0, failed: 1 }],
    [9000, started('0', 2)],
  );
  const state = fold(entries);
  assert.equal(state.endedAt, undefined);
  assert.equal(state.jobs[0]?.outcome, 'running');
  assert.equal(state.jobs[0].attempts[1]?.waitingSince, undefined);
});

test('the counts of a run add up to its jobs', () => {
  const { tally } = fold(
    run(
      [0, created('0', '1', '2')],
      [1, started('1', 1)],
      [2, { kind: 'job-ended', job: '2', outcome: 'wrong-output' }],
    ),
  );
  const { total, waiting, running } = tally;
  assert.deepEqual([total, waiting, running, tally['wrong-output']], [3, 1, 1, 1]);
});

test("time is added to the open phase, by the agent's clock only", () => {
  const day = 86_400;
  const spoken = agent(
    '0',
    1,
    [day, hello],
    [day + 2, { kind: 'phase', phase: 'fetching' }],
    [day + 7, { kind: 'phase', phase: 'training' }],
    [day + 17, { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0 }],
  );
  const state = fold([...run([0, created('0')], [1, started('0', 1)]), ...spoken]);
  const millis = state.jobs[0]?.attempts[0]?.agent?.millis;
  assert.deepEqual([millis?.preparing, millis?.fetching, millis?.training], [2000, 5000, 10_000]);
});

test('a clock that is set back during an attempt subtracts no time', () => {
  const spoken = agent(
    '0',
    1,
    [100, hello],
    [110, { kind: 'phase', phase: 'training' }],
    [50, { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0 }],
    [120, { kind: 'agent-ended', outcome: 'success', exit: 0 }],
  );
  const millis = fold(spoken).jobs[0]?.attempts[0]?.agent?.millis;
  assert.deepEqual([millis?.preparing, millis?.training], [10_000, 10_000]);
});

test('an agent that went silent is accounted up to its last entry', () => {
  const spoken = agent('0', 1, [0, hello], [5, { kind: 'phase', phase: 'training' }]);
  const state = fold([
    ...run([0, created('0')], [0, started('0', 1)], [900, ended('0', 1, 'lost')]),
    ...spoken,
  ]);
  const attempt = state.jobs[0]?.attempts[0];
  assert.equal(attempt?.ending, 'lost');
  assert.equal(attempt.agent?.outcome, undefined);
  assert.equal(attempt.agent?.lastAt, time(5));
  assert.equal(attempt.agent.millis.training, 0);
});

test('bytes, server, setbacks and verification of each object are kept apart', () => {
  const fault = { kind: 'transfer-stalled', message: 'no bytes' } as const;
  const spoken = agent(
    '0',
    1,
    [0, { kind: 'fetch-progress', object: 'a', bytes: 5, total: 10, rate: 2, server: 'c1' }],
    [1, { kind: 'fetch-setback', object: 'a', server: 'c1', fault }],
    [2, { kind: 'fetch-progress', object: 'b', bytes: 1, rate: 1, server: 'c2' }],
    [
      3,
      {
        kind: 'fetched',
        object: 'a',
        bytes: 10,
        seconds: 3,
        verified: 'size',
        servers: [{ server: 'c1', bytes: 10 }],
      },
    ],
  );
  const fetches = fold(spoken).jobs[0]?.attempts[0]?.agent?.fetches;
  assert.deepEqual(fetches, [
    {
      object: 'a',
      bytes: 10,
      total: 10,
      rate: 0,
      server: 'c1',
      setbacks: [{ server: 'c1', fault }],
      done: true,
      verified: 'size',
      seconds: 3,
      servers: [{ server: 'c1', bytes: 10 }],
    },
    { object: 'b', bytes: 1, rate: 1, server: 'c2', setbacks: [], done: false },
  ]);
});

test('a returned state does not change when more entries come', () => {
  const folding = new RunFold();
  for (const entry of run([0, created('0')], [1, started('0', 1)])) folding.add(entry);
  const before = folding.state();
  const copy = structuredClone(before);
  for (const entry of agent('0', 1, [2, hello])) folding.add(entry);
  for (const entry of run([3, ended('0', 1, 'failed')])) folding.add(entry);
  assert.deepEqual(before, copy);
});

test('the final state does not depend on when the entries of the two journals arrive', () => {
  const ours: Entry[] = run(
    [0, created('0')],
    [1, started('0', 1)],
    [40, ended('0', 1, 'success')],
    [41, { kind: 'job-ended', job: '0', outcome: 'success' }],
  );
  const theirs: Entry[] = agent(
    '0',
    1,
    [7000, hello],
    [7001, { kind: 'phase', phase: 'training' }],
    [7030, { kind: 'progress', epoch: 1, loss: 0.5 }],
    [7031, { kind: 'agent-ended', outcome: 'success', exit: 0 }],
  );
  const expected = fold([...ours, ...theirs]);
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), (turns) => {
      const [left, right] = [[...ours], [...theirs]];
      const mixed = turns.flatMap((turn) => (turn ? left : right).splice(0, 1));
      assert.deepEqual(fold([...mixed, ...left, ...right]), expected);
    }),
  );
});

test('folding ten thousand jobs takes no quadratic time', () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => String(index).padStart(4, '0'));
  const entries: Entry[] = [
    ...run([0, created(...ids)]),
    ...ids.flatMap((id) => run([1, started(id, 1)])),
    ...ids.flatMap((id) => agent(id, 1, [1, hello], [2, { kind: 'phase', phase: 'training' }])),
    ...ids.flatMap((id) =>
      run([9, ended(id, 1, 'success')], [9, { kind: 'job-ended', job: id, outcome: 'success' }]),
    ),
  ];
  assert.equal(fold(entries).tally.success, 10_000);
});
