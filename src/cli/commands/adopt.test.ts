import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { compileCache } from '../../../test/compile-cache.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Finding } from '../../base/finding.ts';
import { Fault } from '../../fault/fault.ts';
import { loadPlan } from '../../job/load-plan.ts';
import * as adopt from './adopt.ts';

const good = [
  'executable = run.sh',
  'transfer_output_files = model.pt',
  'log = $(Cluster).log',
  'output = $(Cluster).out',
  'error = $(Cluster).err',
  'request_memory = 1 GB',
  'request_disk = 1 GB',
  'max_retries = 2',
  'queue',
  '',
].join('\n');
const script = '#!/bin/sh\nset -e\npython3 train.py\n';
const refused = good.replace('queue', 'notification = Sometimes\nqueue');

/** Runs the real program, without HTCondor on the PATH. */
function program(cwd: string, ...args: string[]) {
  const main = path.join(import.meta.dirname, '..', 'main.ts');
  return spawnSync(process.execPath, [main, 'adopt', ...args], {
    cwd,
    encoding: 'utf8',
    env: { PATH: '/nowhere', HOME: cwd, NODE_COMPILE_CACHE: compileCache },
  });
}

test('a file without findings is reported as such, with the next command', async (t) => {
  const cwd = await temporaryFolder(t, { 'job.sub': good, 'run.sh': script });
  const { out, err } = await runCommand(adopt, ['job.sub'], { cwd });
  assert.equal(
    out,
    'job.sub: 1 job; 0 errors, 0 warnings, 0 notes\n\nHTCondor was not asked: condor_submit is not on the PATH\n',
  );
  assert.match(err, /updraft adopt job\.sub --submit/);
});

test('an error is shown with its line and its fix, and ends with exit code 3', async (t) => {
  const cwd = await temporaryFolder(t, { 'sub dir/job.sub': refused, 'sub dir/run.sh': script });
  const { status, stdout, stderr } = program(cwd, 'sub dir/job.sub');
  assert.equal(status, 3);
  assert.match(stdout, /^job\.sub: 1 job; 1 error, 0 warnings, 0 notes\n/);
  assert.match(
    stdout,
    / job\.sub:9 {2}bad-value\n {6}\| notification = Sometimes\n.*refuses the file\n {6}fix: use NEVER, COMPLETE, ERROR\n/,
  );
  assert.match(stderr, /fix: apply the fixes above, then run: updraft adopt 'sub dir\/job\.sub'/);
});

test('with --json the findings are one object with stable keys', async (t) => {
  const cwd = await temporaryFolder(t, { 'job.sub': refused, 'run.sh': script });
  const { status, stdout } = program(cwd, 'job.sub', '--json');
  assert.equal(status, 3);
  const answer = JSON.parse(stdout) as {
    format: number;
    ok: boolean;
    queues: unknown[];
    findings: Finding[];
    condor: { asked: boolean };
  };
  assert.deepEqual(
    [answer.format, answer.ok, answer.queues, answer.condor.asked],
    [1, false, [{ line: 10, text: 'queue', jobs: 1 }], false],
  );
  assert.deepEqual(
    answer.findings.map(({ rule, level, file, line }) => [rule, level, file, line]),
    [['bad-value', 'error', 'job.sub', 9]],
  );
});

test('a token in a URL is reported but never shown', async (t) => {
  const url =
    'https://data.example/x.tar?authz=Bearer%20VERYSECRET&more=1, https://me:VERYSECRET@data.example/y.tar';
  const cwd = await temporaryFolder(t, {
    'job.sub': good.replace('queue', `transfer_input_files = ${url}\nqueue`),
    'run.sh': script,
  });
  for (const args of [[], ['--json']]) {
    const { status, stdout, stderr } = program(cwd, 'job.sub', ...args);
    assert.equal(status, 3);
    assert.match(stdout, /url-secret/);
    assert.doesNotMatch(stdout + stderr, /VERYSECRET/);
  }
});

test('requests are compared with the usage in a log', async (t) => {
  const log = [
    '005 (012.000.000) 2026-11-01 10:00:00 Job terminated.',
    '\t(1) Normal termination (return value 0)',
    '\tPartitionable Resources :    Usage  Request Allocated',
    '\t   Cpus                 :                 1         1',
    '\t   Disk (KB)            :    99999  1048576   1048576',
    '\t   Memory (MB)          :     1707     1024      1024',
    '...',
    '',
  ].join('\n');
  const cwd = await temporaryFolder(t, { 'job.sub': good, 'run.sh': script, 'old.log': log });
  const { stdout } = program(cwd, 'job.sub', '--usage', 'old.log');
  assert.match(stdout, /below-use\n.*\n.*1 GB requested, but a job in old\.log used 1\.7 GB/);
});

test('an unreadable file and a submission without HTCondor are reported with a fix', async (t) => {
  const cwd = await temporaryFolder(t, { 'job.sub': good, 'run.sh': script });
  const missing = program(cwd, 'none.sub');
  assert.deepEqual([missing.status, /none\.sub cannot be read/.test(missing.stderr)], [3, true]);
  const nowhere = program(cwd, 'job.sub', '--submit');
  assert.equal(nowhere.status, 4);
  assert.match(nowhere.stderr, /condor_submit is not on the PATH\n {2}fix: .*updraft mini pool up/);
});

test('a file with errors is submitted only after confirmation', async (t) => {
  const cwd = await temporaryFolder(t, { 'job.sub': refused, 'run.sh': script });
  const asked: string[] = [];
  const ask = (question: string): Promise<string> => {
    asked.push(question);
    return Promise.resolve('n');
  };
  await assert.rejects(
    runCommand(adopt, ['job.sub', '--submit'], { cwd, ask }),
    (error) =>
      error instanceof Fault && error.kind === 'file-invalid' && /was not submitted/.test(error.message),
  );
  assert.match(asked[0] ?? '', /errors/);
});

test('no command that a file names is run', async (t) => {
  const cwd = await temporaryFolder(t, {
    'job.sub': good.replace('queue', 'include command : ./make.sh\nqueue x from ./list.sh |'),
    'run.sh': script,
    'make.sh': '#!/bin/sh\ntouch ran\n',
    'list.sh': '#!/bin/sh\ntouch ran\n',
  });
  const { out } = await runCommand(adopt, ['job.sub'], { cwd, env: { PATH: '/nowhere' } });
  assert.match(out, /at least 1 job; 0 errors, 0 warnings, 2 notes/);
  assert.match(out, /not-read[^]*make\.sh[^]*not-read[^]*list\.sh/);
  await assert.rejects(
    runCommand(adopt, ['job.sub', '--submit'], { cwd, env: { PATH: '/nowhere' } }),
    /the number of jobs of `queue x from \.\/list\.sh \|` is unknown until/,
  );
  assert.equal(spawnSync('ls', { cwd, encoding: 'utf8' }).stdout.includes('ran\n'), false);
});

test("conditions are evaluated with the access point's version", async (t) => {
  const tool = (text: string): string => `#!/bin/sh\n${text}\n`;
  const cwd = await temporaryFolder(t, {
    'job.sub': good.replace('request_disk = 1 GB', 'if version >= 25.0\nrequest_disk = 1 GB\nendif'),
    'run.sh': script,
    'bin/condor_submit': tool('exit 0'),
    'bin/condor_config_val': tool('exit 1'),
    'bin/condor_version': tool("echo '$CondorVersion: 24.9.2 2025-01-01 $'"),
  });
  for (const name of await readdir(path.join(cwd, 'bin'))) await chmod(path.join(cwd, 'bin', name), 0o755);
  const env = { PATH: `${path.join(cwd, 'bin')}:/usr/bin:/bin`, HOME: cwd };
  const { out } = await runCommand(adopt, ['job.sub'], { cwd, env });
  assert.match(out, /also worth adding: request_disk = 10 GB/);
  assert.match(out, /HTCondor was not asked: it has `if`/);
});

test('a script in place of condor_submit runs without confinement, and the report says so', async (t) => {
  const cwd = await temporaryFolder(t, {
    'job.sub': good,
    'run.sh': script,
    'bin/condor_submit': '#!/bin/sh\n',
  });
  await chmod(path.join(cwd, 'bin/condor_submit'), 0o755);
  const env = { PATH: `${path.join(cwd, 'bin')}:/usr/bin:/bin`, HOME: cwd };
  const { out } = await runCommand(adopt, ['job.sub'], { cwd, env });
  assert.match(out, /HTCondor of unknown version accepts the file\n {2}\(the kernel did not confine it/);
  // It would block on the pipe.
  assert.equal(spawnSync('mkfifo', [path.join(cwd, 'list')]).status, 0);
  await writeFile(path.join(cwd, 'job.sub'), good.replace('queue', 'queue x from list'));
  const piped = await runCommand(adopt, ['job.sub', '--json'], { cwd, env }).catch(() => ({ out: '' }));
  assert.doesNotMatch(piped.out, /"asked":true/);
});

test('a job file is written for a submit file, once, and can be planned', async (t) => {
  const text = [
    'executable = run.sh',
    `arguments = "--rate $(rate) --note 'two words'"`,
    'environment = "THREADS=2 MY_API_KEY=abc NOTE=\'{x}\'"',
    'transfer_input_files = train.py, osdf:///demo/data-v1.tar',
    'transfer_output_files = model.pt',
    'request_memory = 4 GB',
    'concurrency_limits = licence',
    '+ProjectName = "Cats"',
    'queue rate from (\n0.1\n0.01\n)',
    '',
  ].join('\n');
  const cwd = await temporaryFolder(t, { 'job.sub': text, 'run.sh': script, 'train.py': 'print(1)\n' });
  const env = { PATH: '/nowhere', HOME: cwd };
  const { err } = await runCommand(adopt, ['job.sub', '--write'], { cwd, env });
  assert.match(err, /not carried over: concurrency_limits/);
  assert.match(err, /MY_API_KEY looks like a secret/);
  const { spec, jobs } = await loadPlan(path.join(cwd, 'updraft.toml'));
  assert.deepEqual(
    jobs.map(({ train }) => train.command),
    ['0.1', '0.01'].map((rate) => `./run.sh --rate ${rate} --note 'two words'`),
  );
  assert.deepEqual(spec.train.env, { THREADS: '2', NOTE: '{{x}}' });
  assert.deepEqual(
    [spec.run.project, spec.data[0]?.url, spec.train.files],
    ['Cats', 'osdf:///demo/data-v1.tar', ['run.sh', 'train.py']],
  );
  await assert.rejects(runCommand(adopt, ['job.sub', '--write'], { cwd, env }), /already exists/);
});
