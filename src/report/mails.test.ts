import assert from 'node:assert/strict';
import { chmod, chown } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../test/cli/run-command.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { logSources } from '../eventlog/log-sources.ts';
import { mailsOf, mailsText, type Mails } from './mails.ts';
import { readLogs } from './read-logs.ts';
import * as report from '../cli/commands/report.ts';

const at = '2026-01-01 10:00:00';
const submitted = (id: string, owner?: string): string =>
  `000 (${id}.000) ${at} Job submitted from host: <192.0.2.1:9618>\n...\n${
    owner === undefined
      ? ''
      : `028 (${id}.000) ${at} Job ad information event triggered.\nOwner = "${owner}"\nTriggerEventTypeNumber = 0\n...\n`
  }001 (${id}.000) ${at} Job executing on host: <192.0.2.2:9618?alias=ep>\n...\n`;
const held = (id: string, code: number, subcode: number, reason: string): string =>
  `012 (${id}.000) ${at} Job was held.\n\t${reason}\n\tCode ${code} Subcode ${subcode}\n...\n`;
const exited = (id: string, code: number): string =>
  `005 (${id}.000) ${at} Job terminated.\n\t(1) Normal termination (return value ${code})\n...\n`;

async function mailsAbout(
  t: TestContext,
  logs: Record<string, string>,
): Promise<Mails & { printed: string }> {
  const folder = await temporaryFolder(t, logs);
  const read = await readLogs(await logSources(Object.keys(logs), { cwd: folder }));
  const mails = mailsOf(read, 'my.log');
  return { ...mails, printed: mailsText(mails, read.jobs.length) };
}

const missing =
  'Transfer input files failure at access point ap while sending files: reading from file /home/alice/a.tar: (errno 2) No such file or directory';

test('each owner gets one mail, with the causes, the advice and the command that helps', async (t) => {
  const { mails, staff, printed } = await mailsAbout(t, {
    'my.log': [
      submitted('1.000', 'alice') + held('1.000', 13, 2, missing),
      submitted('1.001', 'alice') + held('1.001', 13, 2, missing),
      submitted('1.002', 'alice') + exited('1.002', 0),
      submitted('2.000', 'bob') + exited('2.000', 3),
      submitted('3.000', 'carol') + held('3.000', 1, 0, 'via condor_hold (by user carol)'),
      submitted('4.000', 'dave') + held('4.000', 26, 0, 'Ask the admins'),
    ].join(''),
  });
  assert.deepEqual(
    mails.map(({ to, subject, causes }) => [
      to,
      subject,
      ...causes.map(({ cause, command }) => [cause, command]),
    ]),
    [
      ['alice', '2 of your 3 jobs need your help', ['input-missing', 'condor_release 1.0 1.1']],
      ['bob', 'Your job needs your help', ['exit-code', null]],
    ],
  );
  assert.deepEqual(
    staff.map(({ cause }) => cause),
    ['pool-policy'],
  );
  assert.match(printed, /^To: alice\nSubject: 2 of your 3 jobs need your help\n\nHello alice,\n/);
  assert.match(printed, /\* 2 jobs are held: 1\.0, 1\.1\n  Why: an input file is missing/);
  assert.match(
    printed,
    /When the file is there under its old name, release them:\n      condor_release 1\.0 1\.1\n/,
  );
  assert.match(
    printed,
    /after\s+correcting\s+one,\s+submit\s+again\s+and\s+condor_rm/,
    'a held job keeps its names',
  );
  assert.match(printed, /condor_q -hold 1\.0\n    updraft why my\.log 1\.0\n/);
  assert.match(printed, /When that is fixed, submit it again\./);
  assert.match(printed, /For the staff of the pool, not for owners:\n\n\* 1 job is held: 4\.0/);
  assert.doesNotMatch(printed, /carol/, 'who held a job knows why');
  assert.ok(printed.split('\n').every((line) => line.length <= 76));
});

test('a mail about one job, or about all, says so', async (t) => {
  const job = (id: string): string => submitted(id, 'alice') + held(id, 13, 2, missing);
  const one = await mailsAbout(t, { 'my.log': job('1.000') });
  assert.match(
    one.printed,
    /\n\nYour job in my\.log cannot finish without your help\.[^]*To read more about it:\n/,
  );
  const all = await mailsAbout(t, { 'my.log': job('1.000') + job('1.001') });
  assert.match(
    all.printed,
    /\n\nNone of your 2 jobs in my\.log can finish without your help\.[^]*about one of them:\n/,
  );
});

test('requests and lists cannot be changed in the queue, so the job is removed and submitted again', async (t) => {
  const noOutput =
    'Transfer output files failure at execution point slot1@e while sending files to access point ap. Details: reading from file /e/out.pt: (errno 2) No such file or directory';
  for (const hold of [
    held('1.000', 34, 102, 'memory usage exceeded request_memory'),
    held('1.000', 12, 2, noOutput),
    held('1.000', 32, 0, 'Transfer input files failure: max total size exceeded'),
  ]) {
    const { printed } = await mailsAbout(t, { 'my.log': submitted('1.000', 'alice') + hold });
    assert.match(printed, /submit it again, and remove what is\s+held:\n      condor_rm 1\.0\n/);
    assert.doesNotMatch(printed, /condor_release/);
  }
});

test('an exit code or a signal has the meaning that `why` gives it', async (t) => {
  const { printed } = await mailsAbout(t, { 'my.log': submitted('1.000', 'bob') + exited('1.000', 127) });
  assert.match(
    printed,
    /\n  It ended with exit code 127\. Shells use this code when a command is not\s+found\./,
  );
  const signal =
    '005 (1.000.000) 2026-01-01 00:10:00Z Job terminated.\n\t(0) Abnormal termination (signal 11)\n...\n';
  const crashed = await mailsAbout(t, { 'my.log': submitted('1.000', 'bob') + signal });
  assert.match(crashed.printed, /ended by signal 11\. Signal 11: it accessed invalid memory/);
  assert.doesNotMatch(crashed.printed, /ignal 9/);
});

test('without owners there is one mail that names the logs, and secrets in reasons are removed', async (t) => {
  const reason =
    'Transfer input files failure: 403 for https://h/x?access_token=abc123def456, pwd: planted12, DB_PASS=planted';
  const { mails, printed } = await mailsAbout(t, {
    'logs/a.log': submitted('1.000') + held('1.000', 13, 403, reason),
    'logs/b.log': submitted('2.000') + exited('2.000', 1),
    'logs/c.log': submitted('3.000') + exited('3.000', 0),
  });
  assert.deepEqual(
    mails.map(({ to, logs }) => [to, logs]),
    [[null, ['logs/a.log', 'logs/b.log']]],
  );
  assert.match(
    printed,
    /^To: the owner of logs\/a\.log, logs\/b\.log\nSubject: 2 of your 3 jobs need your help\n/,
  );
  assert.match(printed, /Hello,\n\n2 of your 3 jobs in logs\/a\.log, logs\/b\.log cannot finish without you/);
  assert.match(printed, /updraft why logs\/a\.log 1\.0\n/);
  assert.doesNotMatch(printed, /abc123def456|planted/);
});

test('if nobody has to act, the mail says so', async (t) => {
  const { printed } = await mailsAbout(t, { 'a.log': submitted('1.000') + exited('1.000', 0) });
  assert.equal(printed, 'Nobody needs a mail: the job does not wait for a person.');
});

test('where the log names no owner, the mail and --by owner take the owner of the file, and say so', async (t) => {
  const texts = {
    'a.log': submitted('1.000') + exited('1.000', 1),
    'b.log': submitted('2.000') + exited('2.000', 1),
    'c.log': submitted('3.000', 'carol') + exited('3.000', 1),
  };
  const getent = '#!/bin/sh\nshift\nfor uid; do echo "user$uid:x:$uid:0::/:/bin/sh"; done\n';
  const cwd = await temporaryFolder(t, { ...texts, getent });
  await chmod(path.join(cwd, 'getent'), 0o755);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const name of Object.keys(texts)) await chown(path.join(cwd, name), 4321, 4321);
  const user = `user${isRoot ? 4321 : (process.getuid?.() ?? 0)}`;
  const env = { PATH: `${cwd}:/usr/bin:/bin` };
  const ask = async (words: string[], uid: number): Promise<string> =>
    (await runCommand(report, [...Object.keys(texts), ...words], { cwd, env, uid, columns: 120 })).out;
  const mails = await ask(['--mail'], 0);
  assert.match(mails, new RegExp(`^To: ${user} \\(by the owner of the file: the log names none\\)\\n`));
  assert.equal(mails.match(/^To: /gm)?.length, 2, 'one for both logs of one user, one for carol');
  const groups = await ask(['--by', 'owner'], 0);
  assert.match(groups, new RegExp(`\\n +${user} +2 `));
  assert.match(groups, /2 jobs: the log names no owner, so the owner of its file stands for it\./);
  const reader = Number(user.slice(4));
  assert.match(await ask(['--mail'], reader), /^To: the owner of a\.log, b\.log\n/, 'it may be a copy');
});

test('the memory to request is never less than what a job ran out of, also by the words of Docker', async (t) => {
  const small =
    'Error from slot1@w: Job has gone over cgroup memory limit of 2048 megabytes. Last measured usage: 2100 megabytes.';
  const docker = 'Error from slot1@w: Docker job has gone over memory limit of 16384 Mb';
  const jobs = (second: string): string =>
    submitted('1.000', 'alice') +
    held('1.000', 34, 102, small) +
    submitted('2.000', 'alice') +
    held('2.000', 34, 0, second);
  const { mails, printed } = await mailsAbout(t, { 'my.log': jobs(docker) });
  assert.match(printed, /^To: alice\nSubject: Both of your jobs need your help\n/);
  assert.equal(mails[0]?.causes[0]?.line, 'request_memory = 32GB');
  const unknown = await mailsAbout(t, { 'my.log': jobs('Memory usage exceeded request_memory') });
  assert.equal(unknown.mails[0]?.causes[0]?.line, null, 'how much the second job had is not known');
});

test('the mail about a DAG names nodes without a job, each exit code, and the command that runs the rest', async (t) => {
  const cwd = await temporaryFolder(t, {
    'my.dag': 'JOB A a.sub\nJOB B a.sub\nJOB C a.sub\nSCRIPT PRE C pre.sh\n',
    'a.sub': 'executable = a\nlog = a.log\nqueue\n',
    'a.log': ['A', 'B']
      .map(
        (node, index) =>
          submitted(`${index + 1}.000`).replace('\n...', `\n    DAG Node: ${node}\n...`) +
          exited(`${index + 1}.000`, index + 3),
      )
      .join(''),
    'my.dag.dagman.out': [
      'Event: ULOG_SUBMIT for HTCondor Node A (1.0.0) {01/01/26 10:00:00}',
      'Event: ULOG_SUBMIT for HTCondor Node B (2.0.0) {01/01/26 10:00:00}',
      'PRE Script of Node C failed with status 9',
    ]
      .map((line) => `01/01/26 10:00:00 ${line}\n`)
      .join(''),
  });
  const { out } = await runCommand(report, ['my.dag', '--mail'], { cwd });
  assert.match(out, /^To: the owner of my\.dag\nSubject: All 3 of your jobs need your help\n/);
  assert.match(out, /The log says: A: ended with exit code 3; B: ended with exit code 4\n/);
  assert.match(out, /\* 1 job failed: C\n[^*]*The log says: its PRE script failed with status 9\n/);
  assert.doesNotMatch(out, /submit (?:it|them) again/);
  assert.match(out, /run what is not done:\n    condor_submit_dag my\.dag\n/);
  const onlyPre = await temporaryFolder(t, {
    'my.dag': 'JOB C a.sub\nSCRIPT PRE C pre.sh\n',
    'a.sub': 'executable = a\nqueue\n',
    'my.dag.dagman.out': '01/01/26 10:00:00 PRE Script of Node C failed with status 9\n',
  });
  const alone = await runCommand(report, ['my.dag', '--mail'], { cwd: onlyPre });
  assert.match(alone.out, /Subject: Your job needs your help\n[^]*updraft why my\.dag C\n/);
});
