import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentBody, Progress } from '@updraft/account/journal';
import type { Rungs } from '../../search/rungs.ts';
import type { Attempt } from '../attempt.ts';
import { RungWatch } from './rung-watch.ts';

const rungs: Rungs = { metric: 'acc', isLowerBetter: false, unit: 'epochs', budgets: [1, 3, 9], eta: 3 };

/** A watch of a trial, what it has recorded, and the notes of all trials. */
function watched(of: Partial<Rungs> = {}, isFresh = true, id = '0000', names = new Set<string>()) {
  const found: [at: number, value: number, seen: number, goesOn: boolean][] = [];
  const attempt = {
    order: { job: { id }, attempt: 1 },
    record: (body: AgentBody) =>
      void (body.kind === 'rung' && found.push([body.at, body.value, body.seen, body.goesOn])),
    shared: {
      put: (name: string) => {
        names.add(name);
        return Promise.resolve(true);
      },
      list: (folder: string) =>
        Promise.resolve(
          [...names].flatMap((one) => (one.startsWith(`${folder}/`) ? one.slice(folder.length + 1) : [])),
        ),
    },
  } as unknown as Attempt;
  return { watch: new RungWatch(attempt, { ...rungs, ...of }, isFresh), found, names };
}

/** The rungs that a training of these reports reaches, with the values there. */
async function reached(
  reports: Progress[],
  of: Partial<Rungs> = {},
  isFresh = true,
): Promise<[number, number][]> {
  const { watch, found } = watched(of, isFresh);
  for (const report of reports) watch.onProgress(report);
  await watch.settled;
  return found.map(([at, value]) => [at, value]);
}

const at = (epoch: number, acc: number, more: Progress = {}): Progress => ({
  epoch,
  metrics: { acc },
  ...more,
});

test('a report without a step is of the whole epoch, and one with steps of what it has done', async () => {
  assert.deepEqual(await reached([at(1, 0.1), at(2, 0.2), at(3, 0.3)]), [
    [1, 0.1],
    [3, 0.3],
  ]);
  assert.deepEqual(await reached([at(1, 0.1, { step: 5, steps: 10 }), at(1, 0.2, { step: 10, steps: 10 })]), [
    [1, 0.2],
  ]);
  assert.deepEqual(await reached([{ epoch: 1, step: 5, steps: 10 }, at(1, 0.3)]), [[1, 0.3]]);
});

test('epochs that are counted from 0 are as many', async () => {
  assert.deepEqual(await reached([at(0, 0.1, { firstEpoch: 0 }), at(1, 0.2), at(2, 0.3)]), [
    [1, 0.1],
    [3, 0.3],
  ]);
  assert.deepEqual(await reached([{ firstEpoch: 0 }, at(2, 0.3)], {}, false), [[3, 0.3]]);
});

test('the first report beyond a rung is of that rung; of several, the last', async () => {
  assert.deepEqual(await reached([at(2, 0.2), at(5, 0.5)]), [
    [1, 0.2],
    [3, 0.5],
  ]);
  assert.deepEqual(await reached([at(4, 0.4)]), [[3, 0.4]]);
});

test('a resumed training that is beyond a rung when it first reports says nothing of it', async () => {
  assert.deepEqual(await reached([at(5, 0.5), at(9, 0.9)], {}, false), [[9, 0.9]]);
  assert.deepEqual(await reached([at(3, 0.3)], {}, false), [[3, 0.3]]);
  assert.deepEqual(await reached([at(2, 0.2), at(4, 0.4)], {}, false), [[3, 0.4]]);
});

test('steps count over all epochs, and other metrics say nothing', async () => {
  const steps: Partial<Rungs> = { unit: 'steps', budgets: [100, 300] };
  assert.deepEqual(
    await reached(
      [
        { step: 99, loss: 1 },
        { step: 100, metrics: { acc: 0.1 } },
      ],
      steps,
    ),
    [[100, 0.1]],
  );
  assert.deepEqual(await reached([at(2, 0.2, { step: 100, steps: 200 })], steps), [[300, 0.2]]);
  assert.deepEqual(await reached([{ epoch: 1, loss: 2 }]), []);
  assert.deepEqual(await reached([{ epoch: 1, loss: 2 }], { metric: 'loss' }), [[1, 2]]);
});

test('who went on is judged again with what is reported since, once in the time to the first rung', async () => {
  const { watch, found, names } = watched();
  const report = async (...reports: Progress[]): Promise<void> => {
    for (const one of reports) watch.onProgress(one);
    await watch.settled;
  };
  await report(at(1, 0.5));
  names.add('rung-1/0001_1_0.6').add('rung-1/0002_1_0.1');
  await report(at(2, 0.9, { step: 5, steps: 10 }));
  assert.equal(found.length, 1, 'the second epoch is not over');
  await report(at(2, 0.9, { step: 10, steps: 10 }));
  assert.deepEqual(found, [
    [1, 0.5, 1, true],
    [1, 0.5, 3, false],
  ]);
  assert.deepEqual([watch.stop.aborted, names.has('stopped-early/0000')], [true, true]);
});

test('of two that report at the same moment both are counted, and the better one goes on', async () => {
  const one = watched();
  const other = watched({}, true, '0001', one.names);
  for (const [of, acc] of [
    [one, 0.5],
    [other, 0.6],
  ] as const)
    of.watch.onProgress(at(1, acc));
  await Promise.all([one.watch.settled, other.watch.settled]);
  assert.deepEqual([...one.names].sort(), ['rung-1/0000_1_0.5', 'rung-1/0001_1_0.6', 'stopped-early/0000']);
  assert.deepEqual([one.found, other.found], [[[1, 0.5, 2, false]], [[1, 0.6, 2, true]]]);
});

test('whose own note was lost is not judged again, nor is anyone after the last rung', async () => {
  const lost = watched({}, false);
  lost.names.add('rung-1/0001_1_0.6').add('rung-1/0002_1_0.6');
  lost.watch.onProgress(at(2, 0.1));
  await lost.watch.settled;
  const ended = watched();
  ended.watch.onProgress(at(9, 0.1));
  await ended.watch.settled;
  ended.names.add('rung-3/0001_1_0.6').add('rung-3/0002_1_0.6');
  ended.watch.onProgress(at(10, 0.1));
  await ended.watch.settled;
  assert.deepEqual([lost.found, lost.watch.stop.aborted], [[], false]);
  assert.deepEqual([ended.found, ended.watch.stop.aborted], [[[9, 0.1, 1, true]], false]);
});
