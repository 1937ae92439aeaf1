import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { loadPlan } from '../../job/load-plan.ts';
import * as adopt from '../commands/adopt.ts';

/** Writes a job file for these lines, and returns it, its plan and what was said. */
async function written(t: TestContext, ...lines: string[]) {
  const text = ['executable = run.sh', ...lines, ''].join('\n');
  const cwd = await temporaryFolder(t, {
    'job.sub': text,
    'run.sh': '#!/bin/sh\n',
    'in.txt': 'x',
    'data/in.txt': 'x',
  });
  const { err } = await runCommand(adopt, ['job.sub', '--write'], {
    cwd,
    env: { PATH: '/nowhere', HOME: cwd },
  });
  const file = path.join(cwd, 'updraft.toml');
  const { spec, jobs } = await loadPlan(file);
  const commands = jobs.map(({ train }) => train.command);
  return { said: err.split('\n'), spec, commands, toml: await readFile(file, 'utf8') };
}

test('what Updraft does not do as written is not carried over, and the user reads what to do instead', async (t) => {
  const { said, spec } = await written(
    t,
    'input = in.txt',
    'log = a.log',
    'success_exit_code = 3',
    'retry_until = 7',
    'max_retries = 2',
    'should_transfer_files = NO',
    'when_to_transfer_output = ON_EXIT',
    'periodic_remove = (RemoteWallClockTime > 2 * 3600)',
    'periodic_release = true',
    'transfer_output_remaps = "a = b"',
    'output_destination = root://x//y',
    'max_materialize = 20',
    'hold = true',
    'universe = parallel',
    'queue',
  );
  for (const line of [
    'input = in.txt: name the file in `files`, and end `command` with `< FILE`',
    'success_exit_code = 3: only 0 is a success: end `command` with `; [ $? -eq CODE ]`',
    'retry_until = 7: a failed training is not repeated: loop in `command`',
    'max_retries = 2: a failed training is not repeated: loop in `command`',
    'should_transfer_files = NO: jobs get only `files`, and return only `outputs`',
    'periodic_remove = (RemoteWallClockTime > 2 * 3600): resources.time limits each attempt, run.attempts their number',
    'periodic_release = true: Updraft has a rule of its own: `updraft docs recovery`',
    'transfer_output_remaps = "a = b": results return to a folder of each job',
    'output_destination = root://x//y: results return to a folder of each job',
    'max_materialize = 20: no key limits how many jobs run at once; `concurrency_limits` may',
    'hold: Updraft writes this line itself, and recovery depends on it',
    'universe = parallel: each job runs on one worker, in the vanilla universe',
  ])
    assert.ok(said.includes(`not carried over: ${line}`), line);
  assert.ok(said.includes('not needed, Updraft does it itself: log, when_to_transfer_output'));
  assert.equal(spec.resources.timeSeconds, 7200);
});

test('limits of time are carried over', async (t) => {
  const { said, spec } = await written(
    t,
    'allowed_execute_duration = 90',
    'allowed_job_duration = 70',
    'queue',
  );
  assert.equal(spec.resources.timeSeconds, 70);
  assert.doesNotMatch(said.join('\n'), /duration/);
});

test('the number of the cluster is never written, however jobs are listed', async (t) => {
  const { said, commands } = await written(
    t,
    'batch_name = b$(Cluster)',
    'arguments = $(ClusterId) $INT(Process,%03d) x$(Cluster)_$INT(Process,%02d)',
    'queue 2',
  );
  assert.deepEqual(
    commands,
    ['000 x"$UPDRAFT_RUN"_00', '001 x"$UPDRAFT_RUN"_01'].map(
      (end) => `sh -c './run.sh "$UPDRAFT_RUN" ${end}'`,
    ),
  );
  assert.ok(said.includes("not carried over: $(Cluster): the run's name, $UPDRAFT_RUN, is in its place"));
  assert.ok(said.includes('to fill in: FILL-IN-Cluster: the submit file has no value for $(Cluster)'));
});

test('names without a value are to fill in, except those with a default', async (t) => {
  const { said, commands, spec } = await written(
    t,
    'arguments = $(batch) $(JOB) $(given:5) $$(Memory) $ENV(NOT_SET)',
    'environment = "P=$(p1)"',
    'transfer_input_files = in.txt, data_$(batch).mat',
    'log = $(unseen).log',
    'queue',
  );
  assert.deepEqual(commands, ["./run.sh 'FILL-IN-batch' 'FILL-IN-JOB' 5 'FILL-IN-Memory' UNDEFINED"]);
  assert.deepEqual([spec.train.env['P'], spec.train.files], ['FILL-IN-p1', ['run.sh', 'in.txt']]);
  for (const name of ['batch', 'JOB', 'Memory', 'p1'])
    assert.ok(
      said.includes(`to fill in: FILL-IN-${name}: the submit file has no value for $(${name})`),
      name,
    );
  assert.ok(said.includes('to fill in: files: data_$(batch).mat is known only to HTCondor'));
  assert.ok(said.includes('to fill in: $ENV(NOT_SET): it is not set here: UNDEFINED is in its place'));
  assert.doesNotMatch(said.join('\n'), /unseen/);
});

test('parameters of a list that is missing can be planned, and belong together', async (t) => {
  const one = await written(
    t,
    'arguments = $(id)',
    'transfer_output_files = $(id)_result.tgz',
    'queue id from missing.txt',
  );
  assert.deepEqual(one.spec.run.matrix, { id: ['FILL IN'] });
  assert.deepEqual(one.spec.train.outputs, ['{id}_result.tgz']);
  const two = await written(t, 'arguments = $(a) $(b)', 'queue a, b from missing.txt');
  assert.match(two.toml, /^a_b = \[\n {2}\{ a = "FILL IN", b = "FILL IN" \},\n\]$/m);
  assert.deepEqual(two.spec.run.matrix, { a_b: [{ a: 'FILL IN', b: 'FILL IN' }] });
});

test('queue statements that differ in the same way are named once', async (t) => {
  const { said } = await written(
    t,
    ...['a', 'b', 'c', 'd'].flatMap((name) => [`initialdir = ${name}`, 'queue']),
  );
  assert.deepEqual(
    said.filter((line) => line.includes('differs')),
    [
      'not carried over: line 5, `queue` (1 job) and 2 more queue statements: it differs in initialdir: write a job file of its own',
    ],
  );
});

test('attributes are carried over as texts, and never with a secret', async (t) => {
  const key = '0123456789abcdef0123456789abcdef01234567';
  const { said, spec, toml } = await written(
    t,
    `+WandbKey = "${key}"`,
    `environment = "wandbkey=${key}"`,
    String.raw`+Str = "a\"b"`,
    'queue',
  );
  assert.ok(!toml.includes(key) && !said.join().includes(key));
  assert.ok(
    said.includes('not carried over: +WandbKey: it looks like a secret, which belongs in [train.secrets]'),
  );
  assert.deepEqual(spec.pool?.submit, { '+Str': 'a"b' });
});

test("an interpreter's script is sent, kept paths and plain counts lose nothing", async (t) => {
  const { said, spec } = await written(
    t,
    'executable = /bin/sh',
    'arguments = run.sh',
    'transfer_input_files = data/in.txt',
    'preserve_relative_paths = true',
    'queue 14715',
  );
  assert.deepEqual(spec.train.files, ['run.sh', 'data/in.txt']);
  assert.equal(spec.run.jobs, 14_715);
  assert.doesNotMatch(said.join('\n'), /at the top|are listed/);
});
