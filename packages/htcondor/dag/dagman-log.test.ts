import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { DagmanLog, type DagmanAccount, type NodeAccount } from './dagman-log.ts';

const fixture = path.join(import.meta.dirname, '../../../test/fixtures/dag/flow.dag.dagman.out');

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

/** What DAGMan says of node A. */
const ofA = (...lines: string[]): NodeAccount | undefined =>
  read(lines.map((line) => `11/16/26 14:00:00 ${line}`).join('\n')).nodes.get('A');
const event = (name: string, proc: number): string =>
  `Event: ULOG_${name} for HTCondor Node A (2.${proc}.0) {11/16/26 14:00:00}`;
const ended = (proc: number, how: string): string => `Node A job proc (2.${proc}.0) ${how}.`;
const two = [event('SUBMIT', 0), event('SUBMIT', 1)];
const held = [event('JOB_HELD', 0), '  Hold reason: too much memory'];

test('one job of a node that failed is enough, whatever happens to the others', () => {
  const failed = { state: 'failed', how: 'failed with status 7' };
  const aborted = event('JOB_ABORTED', 1);
  assert.deepEqual(ofA(...two, ended(0, 'failed with status 7'), aborted)?.job, failed);
  const { job, hold } = ofA(...two, ...held, ended(1, 'failed with status 7')) ?? {};
  assert.deepEqual([job, hold], [failed, undefined]);
});

test('a node is done once all of its jobs are, and one that is held keeps it', () => {
  const good = 'completed successfully';
  const done = { state: 'done', how: good };
  const active = { state: 'active', how: '' };
  assert.deepEqual(ofA(...two, ended(1, good))?.job, active);
  assert.deepEqual(ofA(...two, ended(1, good), ended(0, good))?.job, done);
  const waiting = ofA(...two, ...held, ended(1, good));
  assert.deepEqual([waiting?.job?.how, waiting?.hold?.text], ['was held', 'too much memory']);
  const other = [event('JOB_HELD', 1), '  Hold reason: other', event('JOB_RELEASED', 1)];
  assert.equal(ofA(...two, ...held, ...other)?.hold?.text, 'too much memory');
  const released = [...two, ...held, ended(1, good), event('JOB_RELEASED', 0)];
  const free = ofA(...released);
  assert.deepEqual([free?.job, free?.hold], [active, undefined]);
  assert.deepEqual(ofA(...released, ended(0, good))?.job, done);
  const later = [...two.slice(0, 1), ended(0, good), ...two.slice(1)];
  assert.deepEqual(ofA(...later)?.job, active, 'some jobs are made later');
});

test('any text is read without an exception', () => {
  fc.assert(
    fc.property(fc.string(), (text) => void read(`11/16/26 14:19:46 ${text}`)),
    { numRuns: 200 },
  );
});
