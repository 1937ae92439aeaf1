import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { cliMain } from '../../../test/programs.ts';
import { compileCache } from '../../../test/compile-cache.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Finding } from '@updraft/base';
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
const script = '#!/bin/sh\nset -e\npython3 -m train\n';
const refused = good.replace('queue', 'input = ~/words.txt\nqueue');

/** Runs the real program, without HTCondor on the PATH. */
function program(cwd: string, ...args: string[]) {
  return spawnSync(process.execPath, [cliMain, 'adopt', ...args], {
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
  assert.match(err, /condor_submit job\.sub/);
});

test('an error is shown with its line and its fix, and ends with exit code 3', async (t) => {
  const cwd = await temporaryFolder(t, { 'sub dir/job.sub': refused, 'sub dir/run.sh': script });
  const { status, stdout, stderr } = program(cwd, 'sub dir/job.sub');
  assert.equal(status, 3);
  assert.match(stdout, /^job\.sub: 1 job; 1 error, 0 warnings, 0 notes\n/);
  assert.match(
    stdout,
    / job\.sub:9 {2}tilde\n {6}\| input = ~\/words\.txt\n[^]*\n {6}fix: [^]*input = \$ENV\(HOME\)\/words\.txt\n/,
  );
  assert.match(stderr, /fix: apply the fix above, then run: updraft adopt 'sub dir\/job\.sub'/);
});

test('every line to write is shown whole, on a line of its own', async (t) => {
  const old = 'requirements = CUDACapability >= 8.0 && CUDADeviceName == "NVIDIA A100-SXM4-80GB"';
  const cwd = await temporaryFolder(t, {
    'job.sub': good.replace('queue', `request_gpus = 1\n${old}\nqueue`),
    'run.sh': script,
  });
  const advised = ['gpus_minimum_capability = 8.0', 'require_gpus = DeviceName == "NVIDIA A100-SXM4-80GB"'];
  const fix = ['remove `requirements`, and write:', ...advised];
  const { out } = await runCommand(adopt, ['job.sub'], { cwd, columns: 40 });
  for (const line of advised) assert.match(out, new RegExp(`^ {10}${line}$`, 'm'));
  const json = await runCommand(adopt, ['job.sub', '--json'], { cwd });
  const { findings } = JSON.parse(json.out) as { findings: Finding[] };
  assert.equal(findings.find(({ rule }) => rule === 'old-gpu-attributes')?.fix, fix.join('\n'));
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
    [['tilde', 'error', 'job.sub', 9]],
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

test('an unreadable file is reported', async (t) => {
  const cwd = await temporaryFolder(t, { 'job.sub': good, 'run.sh': script });
  const missing = program(cwd, 'none.sub');
  assert.deepEqual([missing.status, /none\.sub cannot be read/.test(missing.stderr)], [3, true]);
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
  assert.match(out, /also worth adding: `request_disk = 10 GB` \(/);
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
  assert.doesNotMatch(err, /concurrency_limits/);
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
  assert.deepEqual(spec.pool?.submit, { concurrency_limits: 'licence' });
  assert.equal(spec.resources.memoryBytes, 4 * 2 ** 30);
  await assert.rejects(runCommand(adopt, ['job.sub', '--write'], { cwd, env }), /already exists/);
});

/** Writes a job file for these lines, and returns its plan and what was said. */
async function written(t: TestContext, ...lines: string[]) {
  const files = {
    'job.sub': `${lines.join('\n')}\n`,
    'run.sh': script,
    'a.csv': '',
    'b.csv': '',
    'list.txt': '',
    'data/a.csv': '',
  };
  const cwd = await temporaryFolder(t, files);
  const env = { PATH: '/nowhere', HOME: cwd };
  const { err } = await runCommand(adopt, ['job.sub', '--write'], { cwd, env });
  const { spec, jobs } = await loadPlan(path.join(cwd, 'updraft.toml'));
  return { said: err, spec, commands: jobs.map(({ train }) => train.command) };
}

test('jobs of a queue statement are written as parameters, by number, or as a list of commands', async (t) => {
  const many = await written(t, 'executable = /bin/echo', 'arguments = seed $(Process)', 'queue 250');
  assert.deepEqual([many.commands.length, many.commands[249]], [250, '/bin/echo seed 249']);
  const grid = 'queue 2 a, job from (\n1 x\n1 y\n2 x\n2 y\n)';
  const combined = await written(t, 'executable = run.sh', 'arguments = $(a)-$(job)', grid);
  assert.deepEqual(combined.spec.run.matrix, { a: ['1', '2'], job_item: ['x', 'y'] });
  assert.equal(combined.commands.filter((command) => command === './run.sh 1-y').length, 2);
  // Jobs of a matrix take turns, so these would have other numbers.
  const numbered = await written(t, 'executable = run.sh', 'arguments = $(a)-$(job) $(Process)', grid);
  assert.deepEqual([numbered.commands.length, numbered.commands[3]], [8, "sh -c './run.sh 1-y 3'"]);
  const rows = await written(
    t,
    'executable = run.sh',
    'arguments = $Fn(a) $(b)',
    'environment = "B=$(b)"',
    'queue a, b from (\nx/p.q 1\nr 2\n)',
  );
  assert.deepEqual(rows.commands, ["sh -c 'B=1 ./run.sh p 1'", "sh -c 'B=2 ./run.sh r 2'"]);
});

test('queue statements with other arguments are written together, others are named', async (t) => {
  const { commands, said } = await written(
    t,
    'executable = run.sh',
    'arguments = one',
    'queue',
    'arguments = two $(Cluster)',
    'queue',
    'request_memory = 9 GB',
    'queue 7',
  );
  assert.deepEqual(commands, ["sh -c './run.sh one'", `sh -c './run.sh two "$UPDRAFT_RUN"'`]);
  assert.match(said, /not carried over: line 7, `queue 7` \(7 jobs\): it differs in request_memory/);
});

test('URLs are written into folders of their own, where no file of the job is', async (t) => {
  const { said, spec } = await written(
    t,
    'executable = run.sh',
    'initialdir = data',
    'transfer_input_files = a.csv, https://example.org/R.tar.gz, osdf:///demo/b.tar',
    'queue',
  );
  assert.deepEqual(
    spec.data.map(({ into }) => into),
    ['data-2', 'data-3'],
  );
  assert.match(said, /URLs arrive in data-2\/, data-3\/, where/);
});

test('what only HTCondor knows, and what no machine has, is to fill in', async (t) => {
  const { said, spec, commands } = await written(
    t,
    'executable = run.sh',
    'arguments = $(file)',
    'environment = "C=$(ClusterId)"',
    'transfer_input_files = $(file), list.txt, x-$(Cluster).txt',
    'transfer_output_files = out.$(Cluster)',
    'request_gpus = $(gpus:99999)',
    'request_memory = ifThenElse(a, 1, 2)',
    'queue file from ls *.csv |',
  );
  assert.deepEqual([spec.train.files, spec.resources.gpus], [['run.sh', 'list.txt'], 1]);
  assert.deepEqual(commands, ["./run.sh 'FILL IN'"]);
  for (const words of [
    'run.matrix: the items of `queue file from ls *.csv |` are unknown here',
    'files: $(file) is known only to HTCondor',
    'files: x-$(Cluster).txt is known only to HTCondor',
    'env.C: it has the number of the cluster in its value',
    'outputs: out.{cluster} has the number of the cluster in its name',
    'gpus: no machine has the 99999 that the submit file requests',
    'memory: `request_memory = ifThenElse(a, 1, 2)` is an expression',
  ])
    assert.ok(said.includes(`to fill in: ${words}\n`), words);
});

test('an image by its old attribute is carried over, and GPU attributes that no machine has are not', async (t) => {
  const { said, spec } = await written(
    t,
    'executable = bin/run.sh',
    'transfer_executable = false',
    '+SingularityImage = "/cvmfs/images.example/torch:1"',
    'request_gpus = 1',
    'requirements = (HasX) && (CUDACapability >= 7.5) && CUDAGlobalMemoryMb > 8000',
    'queue',
  );
  assert.ok(JSON.stringify(spec).includes('/cvmfs/images.example/torch:1'));
  assert.deepEqual([spec.run.requirements, spec.resources.gpu?.capability], [undefined, 7.5]);
  assert.match(
    said,
    /not carried over: requirements: `\(HasX\) && \(CUDACapability >= 7\.5\) && CUDAGlobalMemoryMb > 8000`/,
  );
  assert.match(said, /to fill in: command: bin\/run\.sh is not sent \(transfer_executable = false\)/);
  assert.doesNotMatch(said, /SingularityImage/);
});

test('a command of one pool is named as such, and near-misses find it', async (t) => {
  const text = 'executable = run.sh\nwant_ospool = true\nwant_campus_pool = true\nlog = a.log\nqueue\n';
  const cwd = await temporaryFolder(t, { 'job.sub': text, 'run.sh': script });
  const { out } = await runCommand(adopt, ['job.sub'], { cwd, env: { PATH: '/nowhere', HOME: cwd } });
  assert.match(out, /`want_ospool` is for CHTC only/);
  assert.match(out, /did you mean `want_campus_pools`\?/);
});

test('every command of the submit file is carried over, needless, or named as lost', async (t) => {
  const { said, spec } = await written(
    t,
    'executable = run.sh',
    'batch_name = my batch',
    'stream_output = true',
    'initialdir = .',
    'getenv = HOME',
    'rank = Memory',
    'log = a.log',
    'max_retries = 3',
    'on_exit_remove = ExitCode == 0',
    'notification = Error',
    'accounting_group = physics',
    'nice_user = $(Process) > 3',
    '+WantFlocking = true',
    '+Label = "a b"',
    '+Sum = 1 + x',
    'gpus_minimum_capability = 8.0',
    'gpus_minimum_memory = 16 GB',
    'request_gpus = 1',
    'queue 2',
  );
  assert.equal(spec.name, 'my-batch');
  assert.deepEqual(spec.pool?.submit, {
    accounting_group: 'physics',
    rank: 'Memory',
    '+WantFlocking': true,
    '+Label': 'a b',
  });
  assert.deepEqual(spec.resources.gpu, { capability: 8, memoryBytes: 16 * 2 ** 30 });
  for (const words of [
    'stream_output = true: `updraft logs -f`',
    'initialdir: inputs are taken from there, but results return to the folder of the run',
    'getenv: Updraft writes this line itself; use train.env',
    'notification = Error: [run] on_end',
    'nice_user: it differs between jobs',
    '+Sum: it is an expression',
  ])
    assert.ok(said.includes(`not carried over: ${words}`), words);
  assert.match(said, /not needed, Updraft does it itself: log\n/);
});
