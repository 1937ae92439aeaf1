/** Nodes of DAGs: which clusters are attempts of which job. And who owns a job. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseText } from '../../../test/eventlogs/plain.ts';
import { LogFold } from './log-fold.ts';

const event = (number: string, cluster: number, minute: number, text: string): string =>
  `${number} (${cluster}.000.000) 2026-01-01 10:${String(minute).padStart(2, '0')}:00 ${text}\n...\n`;
const submit = (cluster: number, minute: number, node: string) =>
  event('000', cluster, minute, `Job submitted from host: <192.0.2.1>\n    DAG Node: ${node}`);
const execute = (cluster: number, minute: number) =>
  event('001', cluster, minute, 'Job executing on host: <192.0.2.2?alias=ep>');
const abort = (cluster: number, minute: number) =>
  event('009', cluster, minute, 'Job was aborted.\n\tvia condor_rm (by user alice)');
const done = (cluster: number, minute: number) =>
  event('005', cluster, minute, 'Job terminated.\n\t(1) Normal termination (return value 0)');

function folded(...events: string[]) {
  const fold = new LogFold();
  for (const one of parseText(events.join(''))) fold.add(one);
  return fold.finish().map(({ id, node, outcome, attempts }) => ({
    ...{ id, node, outcome },
    attempts: attempts.map((attempt) => [attempt.id, attempt.ending, attempt.cause]),
  }));
}

test("the clusters of a DAG's node are attempts of one job", () => {
  const log = [
    submit(7, 0, 'A'),
    execute(7, 1),
    abort(7, 5),
    submit(8, 10, 'A'),
    execute(8, 11),
    done(8, 20),
  ];
  assert.deepEqual(folded(...log, submit(9, 0, 'B')), [
    {
      ...{ id: '8.0', node: 'A', outcome: 'success' },
      attempts: [
        ['7.0', 'removed', 'user'],
        ['8.0', 'success', undefined],
      ],
    },
    { id: '9.0', node: 'B', outcome: 'waiting', attempts: [] },
  ]);
});

test('if one job of a node fails, all of its next cluster are attempts of the same jobs', () => {
  const proc = (text: string, number: number) => text.replace('.000.000', `.00${number}.000`);
  const all = (one: (cluster: number, minute: number) => string, cluster: number, minute: number) =>
    [0, 1].map((number) => proc(one(cluster, minute), number)).join('');
  const submitted = (cluster: number, minute: number) => submit(cluster, minute, 'A');
  const failed = done(7, 5).replace('value 0', 'value 3');
  const first = [all(submitted, 7, 0), all(execute, 7, 1), done(7, 5), proc(failed, 1)];
  const second = [all(submitted, 8, 10), all(execute, 8, 11), all(done, 8, 20)];
  const job = (number: number, cause: string) => ({
    ...{ id: `8.${number}`, node: 'A', outcome: 'success' },
    attempts: [
      [`7.${number}`, number === 0 ? 'requeued' : 'failed', cause],
      [`8.${number}`, 'success', undefined],
    ],
  });
  const retried = [job(0, 'node-retried'), job(1, 'exit-code')];
  assert.deepEqual(folded(...first, ...second), retried);
  // The DAG runs again after its success: those are other jobs.
  const again = folded(...first, ...second, all(submitted, 9, 30), all(execute, 9, 31), all(done, 9, 40));
  assert.deepEqual(
    again.map(({ id, attempts }) => [id, attempts.length]),
    [
      ['8.0', 2],
      ['8.1', 2],
      ['9.0', 1],
      ['9.1', 1],
    ],
  );
});

test('a node that is submitted again while its cluster is being removed has that removal', () => {
  const log = [submit(7, 0, 'A'), execute(7, 1), submit(8, 4, 'A'), abort(7, 5), execute(8, 11)];
  assert.deepEqual(folded(...log, done(8, 20)), [
    {
      ...{ id: '8.0', node: 'A', outcome: 'success' },
      attempts: [
        ['7.0', 'removed', 'user'],
        ['8.0', 'success', undefined],
      ],
    },
  ]);
  const waiting = folded(...log.slice(0, 4));
  assert.deepEqual([waiting[0]?.id, waiting[0]?.outcome], ['8.0', 'waiting']);
  const running = folded(...log.slice(0, 3));
  assert.deepEqual([running[0]?.id, running[0]?.outcome], ['7.0', 'running']);
});

test("a job's owner is read from the access point's own log", () => {
  const fold = new LogFold();
  const ad = event(
    '028',
    7,
    1,
    'Job ad information event triggered.\nProc = 0\nOwner = "alice"\nCluster = 7',
  );
  for (const one of parseText(submit(7, 0, 'A') + ad + execute(7, 2))) fold.add(one);
  assert.deepEqual(
    fold.finish().map(({ owner }) => owner),
    ['alice'],
  );
});
