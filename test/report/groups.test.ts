import assert from 'node:assert/strict';
import { chmod, chown } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import * as report from '../../src/cli/commands/report.ts';
import { logSources } from '@updraft/htcondor/eventlog';
import {
  columns,
  comparisonCharts,
  groupedReport,
  type GroupingName,
  groupings,
  readLogs,
  sumOver,
} from '@updraft/account/report';
import { groupReports, groupSection } from '@updraft/account/testing';

const job = (
  proc: number,
  gpu: string,
  code: number,
): string => `000 (7.00${proc}.000) 2026-01-01 10:00:00 Job submitted from host: <10.0.0.1>
...
001 (7.00${proc}.000) 2026-01-01 10:01:00 Job executing on host: <10.0.0.2?alias=ep${proc}.example.org&x=1>
	SlotName: slot1_1@ep${proc}.example.org
	AvailableGPUs = { GPUs_GPU_1 }
	GPUs_GPU_1 = [ Id = "GPU-1"; DeviceName = "${gpu}"; Capability = 8.0 ]
...
005 (7.00${proc}.000) 2026-01-01 11:01:00 Job terminated.
	(1) Normal termination (return value ${code})
...
`;

test('time on slots is grouped by GPU model, the largest loss first', async (t) => {
  const log = job(0, 'NVIDIA A100', 0) + job(1, 'Tesla V100', 1) + job(2, 'NVIDIA A100', 0);
  const folder = await temporaryFolder(t, { 'job.log': log });
  const { jobs, ledger } = await readLogs(await logSources([`${folder}/job.log`]));
  const groups = (by: GroupingName) => groupReports(jobs, ledger.rows, groupings[by].key(jobs, []), true);
  const [worst, best, ...more] = groups('gpu');
  assert.deepEqual(more, []);
  assert.deepEqual(
    [worst?.name, worst?.attempts, worst?.success, worst?.lostSeconds, worst?.cause],
    ['Tesla V100', 1, 0, 3600, 'exit-code'],
  );
  assert.deepEqual([best?.name, best?.jobs, best?.attempts, best?.usefulShare], ['NVIDIA A100', 2, 2, 1]);
  assert.equal(sumOver(best!.slotSeconds, columns), 2 * 3660);
  assert.deepEqual(
    groups('machine').map(({ name }) => name),
    ['ep1.example.org', 'ep0.example.org', 'ep2.example.org'],
  );
});

test('groups that lost the same are in the order of their jobs, as in the other tables', async (t) => {
  const log = job(0, 'Tesla V100', 0) + job(1, 'NVIDIA A100', 0);
  const folder = await temporaryFolder(t, { 'job.log': log });
  const { jobs, ledger } = await readLogs(await logSources([`${folder}/job.log`]));
  const groups = groupReports(jobs, ledger.rows, groupings.gpu.key(), true);
  assert.deepEqual(
    groups.map(({ name }) => name),
    ['Tesla V100', 'NVIDIA A100'],
  );
});

const owned = (cluster: number, owner: string, code: number): string =>
  `000 (${cluster}.000.000) 2026-01-01 10:00:00 Job submitted from host: <10.0.0.1>
...
028 (${cluster}.000.000) 2026-01-01 10:00:01 Job ad information event triggered.
Owner = "${owner}"
TriggerEventTypeNumber = 0
...
001 (${cluster}.000.000) 2026-01-01 10:01:00 Job executing on host: <10.0.0.2?alias=ep.example.org&x=1>
...
005 (${cluster}.000.000) 2026-01-01 11:01:00 Job terminated.
	(1) Normal termination (return value ${code})
...
`;
const waiting = '000 (9.000.000) 2026-01-01 10:00:00 Job submitted from host: <10.0.0.1>\n...\n';

test('jobs are grouped by owner and by log, and those without an owner are counted', async (t) => {
  const folder = await temporaryFolder(t, {
    'a.log': owned(1, 'alice', 0) + owned(2, 'bob', 1) + waiting,
    'b.log': owned(3, 'bob', 0),
  });
  const read = await readLogs(await logSources([`${folder}/a.log`, `${folder}/b.log`]));
  const byOwner = groupedReport(read, 'owner');
  const figures = ({ groups }: typeof byOwner) =>
    groups.map(({ name, jobs, attempts, success, lostSeconds, cause }) => [
      name,
      jobs,
      attempts,
      success,
      lostSeconds,
      cause,
    ]);
  assert.deepEqual(figures(byOwner), [
    ['bob', 2, 2, 1, 3600, 'exit-code'],
    ['alice', 1, 1, 1, 0, null],
    ['unknown', 1, 0, 0, 0, null],
  ]);
  assert.match(byOwner.notes[0] ?? '', /does not name the owner of 1 job\..*job_ad_information_attrs/);
  const sum = byOwner.groups.reduce((total, { slotSeconds }) => total + sumOver(slotSeconds, columns), 0);
  assert.equal(sum * 1000, read.ledger.totalMillis, 'every second of every job is in one group');
  assert.deepEqual(figures(groupedReport(read, 'log')), [
    [`${folder}/a.log`, 3, 2, 1, 3600, 'exit-code'],
    [`${folder}/b.log`, 1, 1, 1, 0, null],
  ]);
  assert.deepEqual(
    read.jobs.map(({ log }) => log),
    ['a', 'a', 'a', 'b'].map((name) => `${folder}/${name}.log`),
  );
  assert.match(groupedReport(read, 'gpu').notes[0] ?? '', /does not name the GPU model of 3 attempts/);
  const [only] = groupedReport(await readLogs(await logSources([`${folder}/b.log`])), 'log').groups;
  assert.equal(only?.name, `${folder}/b.log`);
});

test('a job without an end is watched until the end of its log, and a group that failed is a line at 0', async (t) => {
  const running = (cluster: number): string => owned(cluster, 'alice', 0).split('005 (', 1)[0] ?? '';
  const folder = await temporaryFolder(t, {
    'a.log': owned(1, 'alice', 0) + running(2) + running(3) + running(4) + owned(5, 'bob', 1),
    'b.log': running(6).replaceAll('alice', 'carol'),
  });
  const read = await readLogs(await logSources([`${folder}/a.log`, `${folder}/b.log`]));
  for (const by of ['owner', 'owner,site']) {
    const report = groupedReport(read, by);
    const seconds = 3600;
    const [alice, bob, carol] = report.completion;
    assert.deepEqual(alice?.points, [{ seconds, share: 0.25 }], by);
    assert.deepEqual(alice.censoredSeconds, [seconds, seconds, seconds]);
    assert.deepEqual([bob?.points, carol?.censoredSeconds], [[], [0]], 'of another log');
    const [chart] = comparisonCharts(report);
    assert.match(chart?.svg ?? '', /<title>[^<]*bob[^<]*: 0\.0 %<\/title>/);
  }
});

test('a table of sites has a column for the wait for data, if there was any', async (t) => {
  const folder = await temporaryFolder(t, { 'job.log': job(0, 'NVIDIA A100', 0) });
  const { jobs, ledger } = await readLogs(await logSources([`${folder}/job.log`]));
  const [group] = groupReports(jobs, ledger.rows, groupings.gpu.key(), true);
  const waiting = { ...group!, slotSeconds: { ...group!.slotSeconds, waitingForData: 7200 } };
  const shown = (one: typeof waiting): unknown => {
    const { columns: head, rows } = groupSection({ id: 'gpus', title: '', column: 'model' }, [one], false);
    return rows[0]?.[head.findIndex(({ title }) => title === 'waiting for data')];
  };
  assert.deepEqual([group!, waiting].map(shown), [undefined, '2.0 h']);
});

test('where the log names no owner, --by owner takes the owner of the file, and says so', async (t) => {
  const [first, second] = [job(0, 'Tesla V100', 1), job(1, 'Tesla V100', 1)];
  const getent = '#!/bin/sh\nshift\nfor uid; do echo "user$uid:x:$uid:0::/:/bin/sh"; done\n';
  const cwd = await temporaryFolder(t, { 'a.log': first, 'b.log': second, getent });
  await chmod(path.join(cwd, 'getent'), 0o755);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const name of ['a.log', 'b.log']) await chown(path.join(cwd, name), 4321, 4321);
  const owner = isRoot ? 4321 : (process.getuid?.() ?? 0);
  const env = { PATH: `${cwd}:/usr/bin:/bin` };
  const ask = async (uid: number): Promise<string> =>
    (await runCommand(report, ['a.log', 'b.log', '--by', 'owner'], { cwd, env, uid, columns: 120 })).out;
  const groups = await ask(0);
  assert.match(groups, new RegExp(`\\n +user${owner} +2 `));
  assert.match(groups, /2 jobs: the log names no owner, so the owner of its file stands for it\./);
  assert.doesNotMatch(await ask(owner), /stands for it/, 'it may be a copy');
});
