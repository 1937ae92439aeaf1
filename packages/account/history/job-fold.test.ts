/** A job's history by its events: which time is whose, when events are missing or late. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removedCode } from '../codes/evictions.ts';
import { parseText } from '../../../test/eventlogs/plain.ts';
import type { JobHistory } from './history.ts';
import { LogFold } from './log-fold.ts';

/** The only job after these events, each `number|text`, ten seconds apart. */
function jobOf(...events: string[]): JobHistory {
  const text = events.map((event, index) => {
    const [number = '', body = ''] = event.split('|');
    const stamp = `2026-01-01 10:${String(Math.floor(index / 6)).padStart(2, '0')}:${index % 6}0`;
    return `${number} (7.000.000) ${stamp} ${body}\n...\n`;
  });
  const fold = new LogFold({ evidence: 'job.log' });
  for (const one of parseText(text.join(''))) fold.add(one);
  const [job, ...others] = fold.finish();
  assert.deepEqual([others.length, job?.id], [0, '7.0']);
  return job!;
}

const submit = '000|Job submitted from host: <192.0.2.1>';
const input = '040|Started transferring input files';
const output = '040|Started transferring output files';
const returned = '040|Finished transferring output files';
const executing = (site: string): string =>
  `001|Job executing on host: <192.0.2.2?alias=ep>\n\tSlotName: slot1@ep\n\tGLIDEIN_ResourceName = "${site}"`;
const evicted = (code: number, reason: string): string =>
  `004|Job was evicted. Code ${code} Subcode 0\n\t(0) CPU times\n\tReason: ${reason}`;
const held = (code: number, reason: string): string =>
  `012|Job was held.\n\t${reason}\n\tCode ${code} Subcode 0`;
const done = '005|Job terminated.\n\t(1) Normal termination (return value 0)';

test('a hold that names a machine while none is known is of an attempt that the log has not', () => {
  const words = 'Error from slot1_2@worker9.example: Failed to create directory';
  const { attempts, outcome } = jobOf(submit, executing('Site-A'), evicted(1022, 'drained'), held(6, words));
  assert.deepEqual(
    attempts.map(({ number, site, machine, ending }) => [number, site, machine, ending]),
    [
      [1, 'Site-A', 'ep', 'evicted'],
      [2, '', 'worker9.example', 'held'],
    ],
  );
  assert.equal(outcome, 'held');
});

test('a hold by hand or by a rule while the job waits is of no attempt, whatever its words quote', () => {
  for (const code of [1, 3, 26]) {
    const quoted = held(code, 'started 9 times; the last: Error from slot1@worker9.example: x');
    const { attempts, details } = jobOf(submit, executing('Site-A'), evicted(1022, 'drained'), quoted);
    assert.deepEqual([attempts.length, details?.holds[0]?.attempt], [1, undefined]);
  }
});

test('output that did not arrive whole is marked, what came before it is not', () => {
  const failedSpans = (...events: string[]): (true | undefined)[] =>
    (jobOf(submit, executing('A'), output, returned, output, ...events).attempts[0]?.spans ?? [])
      .filter(({ doing }) => doing === 'returning')
      .map(({ failed }) => failed);
  assert.deepEqual(failedSpans(returned, done), [undefined, undefined]);
  assert.deepEqual(failedSpans(evicted(1022, 'drained')), [undefined, true]);
  const words = 'Transfer output files failure at the access point: Disk quota exceeded';
  assert.deepEqual(failedSpans(returned, held(12, words)), [undefined, true]);
  assert.deepEqual(failedSpans('022|Job disconnected, attempting to reconnect'), [undefined, true]);
});

test('a job removed while its results were on their way has them', () => {
  const gone = '009|Job was aborted.\n\tvia condor_rm (by user alice)';
  assert.equal(jobOf(submit, executing('A'), done, gone).outcome, 'success');
  assert.equal(jobOf(submit, executing('A'), gone).outcome, 'removed');
});

test('an eviction because of a removal has the cause of the removal', () => {
  const gone = '009|Job was aborted.\n\tThe system macro SYSTEM_PERIODIC_REMOVE expression was true';
  const { attempts, outcome, cause } = jobOf(submit, executing('A'), evicted(1023, 'Job was removed'), gone);
  assert.deepEqual([attempts.length, attempts[0]?.ending, attempts[0]?.cause], [1, 'removed', cause]);
  assert.deepEqual([outcome, cause], ['removed', 'pool-policy']);
});

test('a node whose POST script fails has failed, though its program ended well', () => {
  const node = `${submit}\n    DAG Node: A`;
  const script = (code: number): string =>
    `016|POST Script terminated.\n\t(1) Normal termination (return value ${code})\n    DAG Node: A`;
  assert.equal(jobOf(node, executing('A'), done, script(0)).outcome, 'success');
  const { outcome, cause, reason } = jobOf(node, executing('A'), done, script(1));
  assert.deepEqual([outcome, cause], ['failed', 'script-failed']);
  assert.match(reason ?? '', /POST script of its node exited with code 1/);
});

test('an attempt that fails before its first event is one all the same', () => {
  const { attempts } = jobOf(submit, '007|Shadow exception!\n\tError from slot1@w: no user nobody', input);
  assert.deepEqual(
    attempts.map(({ ending, machine }) => [ending, machine]),
    [
      ['transfer-failed', 'w'],
      ['running', ''],
    ],
  );
});

test('evidence is kept only where it was asked for', () => {
  const fold = new LogFold();
  for (const one of parseText('000 (7.000.000) 2026-01-01 10:00:00 Job submitted from host: <x>\n...\n'))
    fold.add(one);
  assert.equal(fold.finish()[0]?.details, undefined);
  assert.ok(jobOf(submit, executing('A')).attempts[0]?.details);
});

test('memory that a hold names counts for its own attempt, not for others with the same table', () => {
  const table =
    '\tPartitionable Resources :    Usage  Request Allocated\n\t   Memory (MB)          :      100      128       128';
  const over =
    'Error from slot1@ep: Job has gone over cgroup memory limit of 128 megabytes. Last measured usage: 127 megabytes.';
  const left = (code: number): string => `${evicted(code, 'none')}\n${table}`;
  const events = [submit, executing('A'), left(1022), executing('A'), left(removedCode), held(34, over)];
  const { attempts } = jobOf(...events);
  assert.deepEqual(
    attempts.map(({ resources }) => resources.map(({ usage }) => usage)),
    [[100], [127]],
  );
});
