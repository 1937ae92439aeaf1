/** Requests compared with what was used, and the advice on them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseText } from '../../../test/eventlogs/plain.ts';
import { LogFold } from '../history/log-fold.ts';
import { resourceReports } from './resource-reports.ts';

const at = (seconds: number): string => `2026-01-01 00:00:${String(seconds).padStart(2, '0')}Z`;
const table = (name: string, used: number, asked: number) => {
  const cells = String(used).padStart(9) + String(asked).padStart(9) + String(asked).padStart(10);
  return `\tPartitionable Resources :    Usage  Request Allocated \n\t   ${name.padEnd(21)}:${cells} \n`;
};
const begun = (job: number): string =>
  `000 (001.00${job}.000) ${at(0)} Job submitted from host: <192.0.2.1:9618?alias=ap>\n...\n` +
  `001 (001.00${job}.000) ${at(1)} Job executing on host: <192.0.2.2:9618?alias=ep>\n...\n`;
const ended = (job: number, used: number): string =>
  `${begun(job)}005 (001.00${job}.000) ${at(9)} Job terminated.\n\t(1) Normal termination (return value 0)\n${table('Memory (MB)', used, 2000)}...\n`;

function reported(log: string) {
  const fold = new LogFold();
  for (const event of parseText(log)) fold.add(event);
  return resourceReports(fold.finish()).map(({ name, suggested, advice }) => [name, suggested, advice]);
}

test('a request that is much too large gets a smaller suggestion', () => {
  assert.deepEqual(reported(ended(0, 700)), [['Memory', 875, 'request less']]);
  assert.deepEqual(reported(ended(0, 3)), [['Memory', 512, 'request less']]);
});

test('attempts too short to be measured do not lower the suggestion', () => {
  assert.deepEqual(reported(ended(0, 0)), []);
});

test('a small request fits, however little of it was used', () => {
  assert.deepEqual(reported(ended(0, 3).replaceAll('2000', ' 512')), [['Memory', null, 'fits']]);
});

test('after an attempt ran out of memory, less is never suggested, however little others used', () => {
  const held = `${begun(1)}012 (001.001.000) ${at(5)} Job was held.\n\tError from slot1@ep: Job has gone over memory limit of 2000 megabytes. Peak usage: 14069 megabytes.\n\tCode 34 Subcode 0\n...\n`;
  assert.deepEqual(reported(ended(0, 400) + held), [['Memory', 17_587, '1 attempt ran out: request more']]);
});

test('use up to the limit suggests twice the request, or a larger one that succeeded', () => {
  const killed = ended(1, 2000).replace(
    /005.*\n.*\n/,
    `004 (001.001.000) ${at(5)} Job was evicted. Code 21 Subcode 102\n\t(0) CPU times\n\tReason: Error from slot1@ep: memory usage exceeded request_memory\n`,
  );
  assert.deepEqual(reported(ended(0, 400) + killed), [['Memory', 4000, '1 attempt ran out: request more']]);
  assert.deepEqual(reported(ended(0, 2900).replaceAll('2000', '3000') + killed), [
    ['Memory', 4000, '1 attempt with a smaller request ran out'],
  ]);
});

test('use beyond the requested disk determines the suggestion', () => {
  const evicted = `${begun(0)}004 (001.000.000) ${at(5)} Job was evicted.\n\t(0) CPU times\n\tError from slot1@ep: disk usage exceeded request_disk\n${table('Disk (KB)', 1500, 1000)}...\n012 (001.000.000) ${at(5)} Job was held.\n\tError from slot1@ep: disk usage exceeded request_disk\n\tCode 21 Subcode 103\n...\n`;
  assert.deepEqual(reported(evicted), [['Disk', 1875, '1 attempt ran out: request more']]);
});

test('the memory to request is never less than what a job ran out of, also by the words of Docker', () => {
  const held = (job: number, reason: string): string =>
    `${begun(job)}012 (001.00${job}.000) ${at(5)} Job was held.\n\t${reason}\n\tCode 34 Subcode 0\n...\n`;
  const small =
    'Job has gone over cgroup memory limit of 2048 megabytes. Last measured usage: 2100 megabytes.';
  const docker = 'Error from slot1@ep: Docker job has gone over memory limit of 16384 Mb';
  const suggested = (second: string) => reported(held(0, small) + held(1, second))[0]?.[1];
  assert.equal(suggested(docker), 32_768);
  assert.equal(suggested('Memory usage exceeded request_memory'), null, 'how much the second had is unknown');
});
