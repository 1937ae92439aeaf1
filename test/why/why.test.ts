import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as report from '../../src/cli/commands/report.ts';
import * as why from '../../src/cli/commands/why.ts';
import { logSources } from '@updraft/htcondor/eventlog';
import { Fault } from '@updraft/account/fault';
import type { Explanation } from '@updraft/account/why';
import { readHistory } from '@updraft/account/history';
import type { LogReport } from '@updraft/account/report';
import { runCommand } from '../cli/run-command.ts';
import { cliMain } from '../programs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { eventLogs } from './render-log.ts';

const journals = path.join(import.meta.dirname, '../journals');

const failsAs = (kind: string, words: RegExp) => (error: unknown) =>
  error instanceof Fault && error.kind === kind && words.test(error.message);

test('a log with one job is explained in full, and the next commands are named', async () => {
  const { out, err } = await runCommand(why, ['hold404.log'], { cwd: eventLogs });
  assert.match(out, /^7\.0 held: an input was not found \(404\)\n/);
  assert.match(out, /\nlog {2}hold404\.log, byte 1782 {2}2026-11-15 00:13:43\n {7}012 Job was held\./);
  assert.match(err, /updraft report hold404\.log/);
});

test('a log with many jobs is explained by cause, and one of them in full', async () => {
  const all = await runCommand(why, ['transfer_queue.log'], { cwd: eventLogs });
  assert.match(all.out, /1 running: nothing is wrong\n {2}job 69\.2\n\n2 succeeded/);
  assert.match(all.err, /updraft why transfer_queue\.log 69\.2/);
  const one = await runCommand(why, ['transfer_queue.log', '069.002.000'], { cwd: eventLogs });
  assert.match(one.out, /^69\.2 running/);
});

test('a large log, a folder with one and stdin are read by a process with a small heap, which replaces the first', async (t) => {
  const log = readFileSync(path.join(eventLogs, 'hold404.log'), 'utf8');
  const folder = await temporaryFolder(t, {
    'logs/large.log': log,
    'starts.cjs': `require('fs').appendFileSync('starts', [process.pid, ...process.execArgv].join(' ') + '\\n')`,
  });
  truncateSync(path.join(folder, 'logs/large.log'), 65e6);
  const env = { ...process.env, NODE_OPTIONS: `--require ${path.join(folder, 'starts.cjs')}` };
  const options = { cwd: folder, env, encoding: 'utf8', stdio: 'pipe', input: log } as const;
  for (const word of ['logs/large.log', 'logs', '-']) {
    writeFileSync(path.join(folder, 'starts'), '');
    assert.match(execFileSync(process.execPath, [cliMain, 'why', word], options), /^7\.0 held/, word);
    const starts = readFileSync(path.join(folder, 'starts'), 'utf8');
    assert.match(starts, /^(\d+)\n\1 --max-semi-space-size=\d+ --expose-gc\n$/, word);
  }
});

test('a log that cannot be reached is an error with a message, not a stack', () => {
  const word = 'x'.repeat(300);
  const { status, stderr } = spawnSync(process.execPath, [cliMain, 'why', word], { encoding: 'utf8' });
  assert.notEqual(status, 0);
  assert.doesNotMatch(stderr, /^\s+at /m);
});

test('of many jobs in a large log, those that succeeded at once take no memory for an explanation', async () => {
  const read = async (isPlaceEnough: boolean) =>
    readHistory(await logSources(['transfer_queue.log'], { cwd: eventLogs }), {
      evidence: true,
      isPlaceEnough,
    });
  const kept = async (isPlaceEnough: boolean) =>
    (await read(isPlaceEnough)).jobs.map((job) => [job.details, job.attempts[0]?.details].map(Boolean));
  const [all, none] = [
    [true, true],
    [false, false],
  ];
  assert.deepEqual(await kept(false), [all, all, all]);
  assert.deepEqual(await kept(true), [none, none, all]);
});

test('why and report suggest the same memory after a hold', async () => {
  const { out } = await runCommand(why, ['p_memhold.log'], { cwd: eventLogs });
  const { resources } = JSON.parse(
    (await runCommand(report, ['p_memhold.log', '--json'], { cwd: eventLogs })).out,
  ) as LogReport;
  const suggested = resources.find(({ name }) => name === 'Memory')?.suggested ?? NaN;
  assert.match(out, new RegExp(`Request at least ${Math.ceil(suggested / 128) * 128} MB`));
});

test('a node of a DAG is one job, by its name or by the number of any of its clusters', async (t) => {
  const at = (number: string, cluster: number, minute: number, text: string): string =>
    `${number} (${cluster}.000.000) 2026-01-01 10:0${minute}:00 ${text}\n...\n`;
  const submit = (cluster: number, minute: number, node: string): string =>
    at('000', cluster, minute, `Job submitted from host: <192.0.2.1>\n    DAG Node: ${node}`);
  const run = (cluster: number, minute: number): string =>
    at('001', cluster, minute, 'Job executing on host: <192.0.2.2?alias=ep>');
  const end = (cluster: number, minute: number, code: number): string =>
    at('005', cluster, minute, `Job terminated.\n\t(1) Normal termination (return value ${code})`);
  const log = [
    submit(7, 0, 'train'),
    submit(9, 0, 'eval'),
    run(7, 1),
    end(7, 2, 1),
    submit(8, 3, 'train'),
    run(8, 4),
    end(8, 5, 0),
  ];
  const cwd = await temporaryFolder(t, { 'dag.log': log.join('') });
  for (const word of ['train', '7', '8.0']) {
    const { out } = await runCommand(why, ['dag.log', word], { cwd });
    assert.match(out, /^8\.0 \(train\) succeeded: nothing is wrong, but it took more than one attempt\n/);
    assert.match(out, /Attempt 1 at ep: The program exited with code 1/);
  }
  const all = await runCommand(why, ['dag.log'], { cwd });
  assert.match(all.out, /1 waiting: .*\n {2}job eval\n/);
  const { jobs } = JSON.parse((await runCommand(why, ['dag.log', '--json'], { cwd })).out) as {
    jobs: Explanation[];
  };
  assert.deepEqual(
    jobs.map(({ job, node }) => [job, node]),
    [
      ['8.0', 'train'],
      ['9.0', 'eval'],
    ],
  );
});

test('--json has the same content, with the evidence by byte', async () => {
  const { out } = await runCommand(why, ['p_memhold.log', '38.0', '--json'], { cwd: eventLogs });
  const { log, jobs } = JSON.parse(out) as { log: string; jobs: Explanation[] };
  assert.equal(log, path.join(eventLogs, 'p_memhold.log'));
  assert.equal(jobs.length, 1);
  assert.equal(jobs[0]?.cause, 'memory-exceeded');
  assert.match(jobs[0].because[0] ?? '', /64 MB requested, 129 MB used/);
  assert.deepEqual(
    jobs[0].evidence.map(({ offset }) => offset),
    [1327, 2015],
  );
});

test('a file that is not a log, and a job that is not in it, are errors', async (t) => {
  const cwd = await temporaryFolder(t, { 'empty.log': '', 'out.txt': 'epoch 1 loss 2.3\n' });
  await assert.rejects(runCommand(why, ['empty.log'], { cwd }), failsAs('file-invalid', /empty/));
  await assert.rejects(
    runCommand(why, ['out.txt'], { cwd }),
    failsAs('file-invalid', /no HTCondor event in out\.txt/),
  );
  await assert.rejects(
    runCommand(why, ['gone.log'], { cwd }),
    failsAs('file-invalid', /no log or run gone\.log/),
  );
  const log = { cwd: eventLogs };
  await assert.rejects(
    runCommand(why, ['hold404.log', '8.0'], log),
    failsAs('usage', /no job 8\.0 in hold404\.log/),
  );
  await assert.rejects(
    runCommand(why, ['hold404.log', 'first'], log),
    failsAs('usage', /"first" names no job and no DAG node in hold404\.log/),
  );
});

test('a job of a run is explained by its journals; --verbose shows their entries', async () => {
  const cwd = path.join(journals, 'retry-then-failure');
  const { out, err } = await runCommand(why, ['.', '1'], { cwd });
  assert.match(out, /^0001 failed: the training failed with an error\n/);
  assert.match(out, /Attempt 1 at node-b: cache-2\.example:8443 sent nothing/);
  assert.doesNotMatch(out, /[{}]/);
  const all = await runCommand(why, ['.', '1', '--verbose'], { cwd });
  assert.match(all.out, /journal\.jsonl#7 .*\n {7}attempt-ended .*"exit":110/);
  assert.match(all.out, /jobs\/0001\/attempt-2\/agent\.jsonl#10 .*\n {7}fault /);
  assert.match(err, /updraft logs \. 0001 --err/);
  await assert.rejects(
    runCommand(why, ['.', '9'], { cwd: path.join(journals, 'retry-then-failure') }),
    failsAs('usage', /no job "9"/),
  );
});

test('a running job without a supervisor says so, in its title too', async () => {
  const { out } = await runCommand(why, ['.'], { cwd: path.join(journals, 'lost-agent') });
  assert.match(out, /^0000 running: the supervisor of the run is gone\n/);
  assert.match(out, /\nnow {2}Nothing: the supervisor of the run is gone/);
});

test('a stopped run says who ended it, and by which entry', async () => {
  const { out } = await runCommand(why, ['.', '0000', '--verbose'], { cwd: path.join(journals, 'stopped') });
  assert.match(out, /^0000 removed: it was stopped\n/);
  assert.match(out, /journal\.jsonl#2 .*\n {7}stop-requested/);
});
