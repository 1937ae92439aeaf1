import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { DagmanLog, type DagmanAccount } from './dagman-log.ts';

const fixture = path.join(import.meta.dirname, '../../test/fixtures/dag/flow.dag.dagman.out');

function read(text: string): DagmanAccount {
  const log = new DagmanLog();
  for (const line of text.split('\n')) log.add(line);
  return log.account;
}

test('.dagman.out says which scripts failed, what was tried again, and how it ended', () => {
  const { nodes, end, rescue } = read(readFileSync(fixture, 'utf8'));
  assert.deepEqual([end?.how, end?.isNews, rescue], ['exited with status 0', false, undefined]);
  assert.deepEqual(
    [...nodes].map(([name, { job, retries, scripts }]) => [
      name,
      job?.how,
      retries,
      scripts.map(({ when, how, at }) => `${when} ${how} ${at}`),
    ]),
    [
      ['fetch', 'completed successfully', 0, []],
      ['inspect', undefined, 0, ['PRE failed with status 4 11/16/26 14:07:57']],
      ['train_a', 'failed with status 3', 1, []],
      ['train_b', 'completed successfully', 1, []],
      [
        'publish',
        'completed successfully, but its POST script failed with status 2',
        0,
        ['POST failed with status 2 11/16/26 14:08:12'],
      ],
      ['notify', 'completed successfully', 0, []],
    ],
  );
});

test('a later run of the DAG replaces what an earlier one said', () => {
  const { nodes, rescue } = read(
    [
      '11/16/26 14:00:00 ** condor_dagman (CONDOR_DAGMAN) STARTING UP',
      '11/16/26 14:00:01 Retrying node A (retry #2 of 2)...',
      '11/16/26 15:00:00 ** condor_dagman (CONDOR_DAGMAN) STARTING UP',
      '11/16/26 15:00:00 USING RESCUE DAG a.dag.rescue001',
    ].join('\n'),
  );
  assert.deepEqual([nodes.size, rescue], [0, 'a.dag.rescue001']);
});

test('a script that cannot be started, and a job that cannot be submitted, keep the reason', () => {
  const { nodes } = read(
    [
      '11/16/26 14:19:46 Create_Process: Cannot access specified executable "true": errno = 2 (No such file or directory)',
      '11/16/26 14:19:46 Error: Failed to execute PRE for Node A',
      '11/16/26 14:19:46 PRE Script of Node A failed with status 1',
      '11/16/26 14:19:47 Could not change to node directory nowhere: Unable to chdir to nowhere',
      '11/16/26 14:19:47 Event: ULOG_SUBMIT_FAILURE for HTCondor Node F (-1.-1.-1) {11/16/26 14:19:47} ',
    ].join('\n'),
  );
  assert.match(nodes.get('A')?.scripts[0]?.notStarted ?? '', /Cannot access specified executable "true"/);
  assert.match(nodes.get('F')?.submitError?.text ?? '', /^Could not change to node directory/);
});

test('any text is read without an exception', () => {
  fc.assert(
    fc.property(fc.string(), (text) => void read(`11/16/26 14:19:46 ${text}`)),
    { numRuns: 200 },
  );
});
