import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseText } from '../../test/eventlogs/plain.ts';
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
