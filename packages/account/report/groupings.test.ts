import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { logSources } from '@updraft/htcondor/eventlog';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { groupedReport } from './grouped-report.ts';
import { groupingOf, variedParameters } from './groupings.ts';
import { readLogs } from './read-logs.ts';

const cache = { name: 'c', bytes: 10, seconds: 1, setbacks: 0 };
const attempt = (...caches: AttemptHistory['caches'] & object): AttemptHistory =>
  ({ caches, spans: [] }) as unknown as AttemptHistory;

test('attempts are cold or warm by what caches had of most of their data', () => {
  const key = groupingOf('warmth', []).key([], []);
  assert.ok('attempt' in key);
  const warmthOf = (one: AttemptHistory) => key.attempt(one, {} as JobHistory);
  assert.equal(warmthOf(attempt({ ...cache, warmBytes: 9, coldBytes: 1 })), 'warm');
  assert.equal(warmthOf(attempt({ ...cache, warmBytes: 4 }, { ...cache, coldBytes: 6 })), 'cold');
  assert.equal(warmthOf(attempt(cache)), undefined);
});

test('cells of a group are compared by the parameter that distinguishes them', () => {
  const job = (parameters: Record<string, string | number>) => ({ parameters }) as unknown as JobHistory;
  const jobs = ['osdf', 'https'].flatMap((method) =>
    [1, 2].map((seed) => job({ url: `${method}://example.org/a/long/path.tar`, method, seed })),
  );
  assert.deepEqual(variedParameters(jobs), ['method']);
  assert.equal(groupingOf('parameters', jobs).title, 'method');
  assert.equal(groupingOf('site, parameter', jobs).title, 'site, method');
  assert.throws(() => groupingOf('parameter', []), /nothing to group by is called "parameter"/);
});

test('jobs without a parameter that is called like a grouping are in the groups of that', () => {
  const job = (method: string, parameters = {}) => ({ method, parameters }) as unknown as JobHistory;
  const jobs = [job('https', { method: 'mine', cache: 'lru' }), job('osdf'), job('')];
  const groupsOf = (by: string, some = jobs): (string | undefined)[] => {
    const key = groupingOf(by, some).key(some, []);
    return some.map((one) => ('job' in key ? key.job(one) : key.attempt(attempt(cache), one)));
  };
  assert.deepEqual(groupsOf('method'), ['mine', 'osdf', 'none']);
  assert.deepEqual(groupsOf('cache'), ['lru', 'c', 'c']);
  assert.deepEqual(groupsOf('method, cache').slice(0, 2), ['method=mine cache=lru', 'method=osdf cache=c']);
  // Where all jobs have it, they are grouped with all their attempts.
  assert.ok('job' in groupingOf('cache', jobs.slice(0, 1)).key(jobs.slice(0, 1), []));
});

test('a job without a GPU has no GPU time, whatever other logs have', async (t) => {
  const log = (cluster: number, gpus: string): string =>
    [
      `000 (${cluster}.000.000) 2026-01-01 10:00:00 Job submitted from host: <192.0.2.1:9618>\n...\n`,
      `001 (${cluster}.000.000) 2026-01-01 10:00:10 Job executing on host: <192.0.2.2:9618>\n${gpus}...\n`,
      `005 (${cluster}.000.000) 2026-01-01 10:01:50 Job terminated.\n\t(1) Normal termination (return value 0)\n...\n`,
    ].join('');
  const cwd = await temporaryFolder(t, { 'cpu.log': log(1, ''), 'gpu.log': log(2, '\tGPUs = 1\n') });
  const { groups } = groupedReport(await readLogs(await logSources(['cpu.log', 'gpu.log'], { cwd })), 'log');
  assert.deepEqual(
    groups.map(({ name, gpuSecondsPerValid }) => [name, gpuSecondsPerValid]),
    [
      ['cpu.log', null],
      ['gpu.log', 100],
    ],
  );
});
