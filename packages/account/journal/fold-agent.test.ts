/** One agent's entries: phases, stalls, fetches, checkpoints, pace, metrics. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { AgentBody, AgentEntry } from './entry.ts';
import { foldAgentEntries } from './fold-agent.ts';
import type { AgentState } from './agent-state.ts';

const fault = { kind: 'transfer-stalled', message: 'sent nothing' } as const;
const fetching: AgentBody = { kind: 'phase', phase: 'fetching' };
const setback = (server = 'a', object = 'x'): AgentBody => ({ kind: 'fetch-setback', object, server, fault });
const moved = (bytes: number, object = 'x'): AgentBody => ({
  kind: 'fetch-progress',
  object,
  bytes,
  rate: 1,
  server: 'a',
});

const journal = (entries: [second: number, body: AgentBody][]): AgentEntry[] =>
  entries.map(([second, body], seq) => {
    const t = new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
    return { v: 1, t, seq, job: '0', attempt: 1, ...body };
  });

/** The attempt's state after these entries, at these seconds. */
function folded(...entries: [second: number, body: AgentBody][]): AgentState {
  const state = foldAgentEntries(undefined, journal(entries));
  assert.ok(state);
  return state;
}

test('entries folded together, in parts or one by one lead to the same state, and change none before it', () => {
  const entries = journal([
    [0, { kind: 'progress', step: 1, metrics: { val_loss: 4 } }],
    [1, { kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: [] }],
    [2, { kind: 'phase', phase: 'training' }],
    [3, { kind: 'training-started', pid: 2, command: 'train' }],
    [4, { kind: 'progress', epoch: 1, epochs: 3, steps: 10, loss: NaN, samples: 10 }],
    [6, { kind: 'progress', epoch: 2, step: 5, loss: 3, accuracy: 0.5, metrics: { val_loss: 5, loss: 2 } }],
    [5, { kind: 'progress', epoch: 2, step: 6, loss: 4, accuracy: 0.4, samples: 90, saves: 1 }],
    [8, { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0 }],
    [9, { kind: 'progress', metrics: { val_loss: 1, val_accuracy: 0.1 }, waited: 2, saveSeconds: 3 }],
    [11, { kind: 'training-started', pid: 3, command: 'train' }],
    [12, { kind: 'progress', epoch: 3, done: 3 }],
    [13, { kind: 'progress', epoch: 3, loss: 1 }],
  ]);
  const whole = entries.reduce<AgentState | undefined>(
    (state, entry) => foldAgentEntries(state, [entry]),
    undefined,
  );
  assert.deepEqual(whole?.training?.best, { val_loss: 1, loss: 1, accuracy: 0.5, val_accuracy: 0.1 });
  assert.equal(whole.millis.training, 11_000);
  for (const cut of entries.keys()) {
    const before = foldAgentEntries(undefined, entries.slice(0, cut));
    const seen = () => ({
      state: inspect(before, { depth: 9 }),
      turns: before?.training?.turns?.entries.length,
    });
    const copy = seen();
    const after = foldAgentEntries(before, entries.slice(cut));
    assert.deepEqual(after, whole);
    assert.deepEqual(after.training?.turns?.entries, whole.training.turns?.entries);
    assert.deepEqual(seen(), copy);
  }
  assert.equal(JSON.stringify(whole).includes('turns'), false);
});

test('a stall lasts from the last byte until a server is given up', () => {
  const { stall, millis } = folded(
    [0, fetching],
    [2, moved(10)],
    [3, moved(20)],
    [5, moved(20)],
    [23, setback()],
  );
  assert.equal(stall?.millis, 20_000);
  assert.equal(millis.fetching, 23_000);
});

test('a server that never answers is a stall until it is given up, each time', () => {
  assert.equal(
    folded([0, fetching], [20, setback('a')], [40, setback('b')], [41, moved(5)]).stall?.millis,
    40_000,
  );
});

test('a server that is given up while another delivers is not a stall', () => {
  const entries: [number, AgentBody][] = [1, 2, 3, 4].map((second) => [second, moved(second * 10)]);
  assert.equal(folded([0, fetching], ...entries, [4.9, setback('b')]).stall?.millis, 0);
  const other = folded([0, fetching], [1, moved(10, 'y')], [2, moved(20, 'y')], [2.5, setback('b', 'x')]);
  assert.equal(other.stall?.millis, 0);
});

test('stalls count only while fetching, and a clock that is set back subtracts nothing', () => {
  const training: AgentBody = { kind: 'phase', phase: 'training' };
  assert.equal(folded([0, fetching], [1, moved(1)], [2, training], [60, setback()]).stall?.millis, 0);
  assert.equal(folded([100, fetching], [120, setback()], [50, setback()]).stall?.millis, 20_000);
});

test("the plugin's fetching and stalls count like the agent's, and the wait between them does not", () => {
  const preparing: AgentBody = { kind: 'phase', phase: 'preparing' };
  const began: AgentBody = { kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: [] };
  const brought: [number, AgentBody][] = [
    [0, preparing],
    [2, fetching],
    [3, moved(10)],
    [13, setback()],
    [14, preparing],
  ];
  const state = folded(...brought, [16, began], [20, { kind: 'phase', phase: 'training' }]);
  assert.deepEqual([state.broughtMillis, state.stall?.millis], [14_000, 10_000]);
  const { preparing: started, fetching: fetched, unknown } = state.millis;
  assert.deepEqual([started, fetched, unknown], [8000, 12_000, 0]);
  assert.equal(folded([0, began], [1, began]).broughtMillis, undefined);
});

test('the waits for data of all starts of a training add up', () => {
  const started: AgentBody = { kind: 'training-started', pid: 1, command: 't' };
  const waited = (seconds: number): AgentBody => ({ kind: 'progress', waited: seconds });
  const { training } = folded([0, started], [1, waited(2)], [2, waited(3)], [3, started], [4, waited(1)]);
  assert.deepEqual(training, { command: 't', waitedBefore: 3, waited: 1 });
});

test('what a training gets of its machine is added up, once for each measurement', () => {
  const beat = (at: number, used: number, queued: number): AgentBody => ({
    ...{ kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0 },
    load: { at, processes: 2, blocked: 1, used, queued },
  });
  const { load } = folded(
    [10, beat(8, 1, 1)],
    [20, beat(18, 6, 2)],
    [30, beat(18, 6, 2)],
    // A process has ended, then the agent was started again.
    [40, beat(28, 3, 4)],
    [50, beat(1, 0, 0)],
    [60, beat(11, 2, 0)],
  );
  const sums = { samples: 3, seconds: 30, used: 7, queued: 3, processes: 6, blocked: 3 };
  assert.deepEqual(load, { ...sums, last: { at: 11, processes: 2, blocked: 1, used: 2, queued: 0 } });
});

test('a GPU is idle since the first of the latest samples that say so', () => {
  const beat = (gpuPercent?: number): AgentBody => ({
    ...{ kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0 },
    ...(gpuPercent !== undefined && { gpuPercent }),
  });
  const beats: [number, AgentBody][] = [
    [0, beat(2)],
    [60, beat(90)],
    [120, beat(3)],
    [130, beat()],
    [180, beat(0)],
  ];
  const { from, to } = folded(...beats).gpuUse?.idle ?? {};
  assert.equal(Date.parse(to ?? '') - Date.parse(from ?? ''), 60_000);
  assert.equal(folded(...beats, [240, beat(6)]).gpuUse?.idle, undefined);
});

test('what was measured of a slot adds up', () => {
  const probed = (figures: Record<string, number>): AgentBody => ({ kind: 'slot-probed', figures });
  const { slot } = folded([0, probed({ copyBytesPerSecond: 1 })], [1, probed({ diskBytesPerSecond: 2 })]);
  assert.deepEqual(slot, { copyBytesPerSecond: 1, diskBytesPerSecond: 2 });
});

test('the GPU of the slot, its use and the pace of the training are known', () => {
  const state = folded(
    [0, { kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: ['A', 'B'] }],
    [1, { kind: 'gpus-found', gpus: ['B'], driver: '550.54.14' }],
    [2, { kind: 'training-started', pid: 2, command: 'train' }],
    [10, { kind: 'progress', epoch: 1, step: 10, steps: 100, samples: 320 }],
    [20, { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0, gpuPercent: 90 }],
    [30, { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0 }],
    [40, { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0, gpuPercent: 70 }],
    [50, { kind: 'progress', epoch: 1, step: 90, steps: 100, samples: 2880 }],
    [110, { kind: 'progress', epoch: 3, step: 10, steps: 100, samples: 6720 }],
    [120, { kind: 'training-started', pid: 3, command: 'train' }],
    [130, { kind: 'progress', epoch: 3, step: 10, steps: 100, samples: 32 }],
  );
  const { gpus, driver, gpuUse, training } = state;
  assert.deepEqual(
    { gpus, driver, gpuUse },
    { gpus: ['B'], driver: '550.54.14', gpuUse: { percent: 80, samples: 2 } },
  );
  const { epochSeconds, samplesPerSecond } = training?.pace ?? {};
  assert.deepEqual([epochSeconds, samplesPerSecond], [50, 64]);
});

test('printed values of a metric that a file has then are void, also as the best; refused metrics are counted', () => {
  const { training } = folded(
    [1, { kind: 'progress', step: 1, loss: 0.1, accuracy: 0.5, metrics: { f1: 0.9 } }],
    [2, { kind: 'progress-replaced', metrics: ['loss', 'f1'] }],
    [2, { kind: 'progress', step: 2, loss: 0.7, metrics: { f1: 0.3 } }],
    [3, { kind: 'metrics-refused', why: 'too-many', count: 1, examples: ['a'] }],
    [4, { kind: 'metrics-refused', why: 'too-long', count: 1, examples: ['b'] }],
    [5, { kind: 'metrics-refused', why: 'too-many', count: 2, examples: ['a', 'c'] }],
  );
  const { loss, accuracy, metrics, best, refused } = training ?? {};
  assert.deepEqual({ loss, accuracy, metrics }, { loss: 0.7, accuracy: 0.5, metrics: { f1: 0.3 } });
  assert.deepEqual(best, { accuracy: 0.5, loss: 0.7, f1: 0.3 });
  assert.deepEqual(refused, [
    { why: 'too-long', count: 1, examples: ['b'] },
    { why: 'too-many', count: 2, examples: ['a', 'c'] },
  ]);
});

test('a training that is started again and has nothing left to do keeps what it reported last', () => {
  const start: AgentBody = { kind: 'training-started', pid: 1, command: 't' };
  const reported: AgentBody = { kind: 'progress', epoch: 6, epochs: 6, accuracy: 0.77, metrics: { f1: 0.7 } };
  const { training } = folded([0, start], [9, reported], [10, start]);
  const { epoch, epochs, accuracy, metrics } = training ?? {};
  assert.deepEqual(
    { epoch, epochs, accuracy, metrics },
    { epoch: 6, epochs: 6, accuracy: 0.77, metrics: { f1: 0.7 } },
  );
});

test('training after the last checkpoint of a start is discarded by the next start', () => {
  const start: AgentBody = { kind: 'training-started', pid: 1, command: 't' };
  const save = (step: number): AgentBody => ({
    kind: 'checkpoint-saved',
    files: 1,
    bytes: 1,
    sha256: '',
    step,
  });
  const training: AgentBody = { kind: 'phase', phase: 'training' };
  const { work } = folded(
    [0, training],
    [0, start],
    [60, start],
    [100, save(1)],
    [110, start],
    [130, save(2)],
  );
  assert.deepEqual(work, {
    saved: [
      { trained: 40_000, step: 1 },
      { trained: 60_000, step: 2 },
    ],
    discarded: 70_000,
    until: 110_000,
  });
});
