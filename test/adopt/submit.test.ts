import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import * as adopt from '../../src/cli/commands/adopt.ts';
import { Fault } from '@updraft/account/fault';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, result } from '../condor/condor-harness.ts';

const description = [
  'executable = run.sh',
  'arguments = $(Process)',
  'transfer_output_files = model.pt',
  'transfer_output_remaps = "model.pt=model.$(Process).pt"',
  'should_transfer_files = YES',
  'log = own.$(Cluster).$(Process).log',
  'output = $(Cluster).$(Process).out',
  'error = $(Cluster).$(Process).err',
  'request_memory = 200 MB',
  'request_disk = 100 MB',
  'max_retries = 1',
  'queue 2',
  '',
].join('\n');

interface Answer {
  findings: unknown[];
  condor: { accepted: boolean; messages: string[] };
}

/** A project on the shared pool; undefined, and the test skipped, where there is none. */
async function project(t: TestContext, files: Record<string, string>) {
  const harness = await condorHarness(t, files);
  if (harness === undefined) return undefined;
  const { folder: cwd, env } = harness;
  for (const name of Object.keys(files).filter((one) => one.endsWith('run.sh')))
    await chmod(path.join(cwd, name), 0o755);
  return {
    cwd,
    run: async (...args: string[]): Promise<Answer> =>
      JSON.parse(
        (await runCommand(adopt, [...args, '--json'], { cwd, env, pid: process.pid })).out,
      ) as Answer,
  };
}

test("HTCondor's warnings and refusals are part of the answer", async (t) => {
  const files = {
    'job.sub': description.replace('queue 2', 'max_retires = 3\nqueue 2'),
    'bad.sub': 'executable = none.sh\nqueue\n',
    'run.sh': '#!/bin/sh\n',
  };
  const harness = await project(t, files);
  if (harness === undefined) return;
  const { condor } = await harness.run('job.sub');
  assert.match(condor.messages.join('\n'), /max_retires = 3' was unused/);
  await assert.rejects(
    harness.run('bad.sub'),
    (error) => error instanceof Fault && error.kind === 'file-invalid',
  );
});

test('a job file written for a submit file runs to the same results', async (t) => {
  const harness = await condorHarness(t, {
    'job.sub': [
      'executable = run.sh',
      `arguments = "$(rate) '$(Cluster) of {all}'"`,
      `environment = "GREETING='hello, you'"`,
      'transfer_input_files = words.txt',
      'transfer_output_files = model-$(rate).pt',
      'when_to_transfer_output = ON_EXIT_OR_EVICT',
      'request_memory = 200 MB',
      'request_disk = 100 MB',
      'priority = 3',
      '+Colour = "green"',
      'queue rate from (\n0.1\n0.01\n)',
      '',
    ].join('\n'),
    'run.sh': '#!/bin/sh\nset -e\necho "$GREETING: $1, $2 $(cat words.txt)" > "model-$1.pt"\n',
    'words.txt': 'and more',
  });
  if (harness === undefined) return;
  await chmod(path.join(harness.folder, 'run.sh'), 0o755);
  const { env } = harness;
  const { err } = await runCommand(adopt, ['job.sub', '--write'], { cwd: harness.folder, env });
  assert.match(err, /not carried over: \$\(Cluster\): the run's name/);
  assert.match(err, /not carried over: when_to_transfer_output = ON_EXIT_OR_EVICT: /);
  const run = await harness.submit();
  const { tally } = await harness.finish(run);
  assert.equal(tally.success, 2);
  for (const [job, rate] of ['0.1', '0.01'].entries())
    assert.equal(
      await result(run, `model-${rate}.pt`, `000${job}`),
      `hello, you: ${rate}, ${path.basename(run)} of {all} and more\n`,
    );
  const asked = await harness.ask(`UpdraftRun == "${path.basename(run)}"`, 'JobPrio', 'Colour');
  assert.deepEqual(new Set(asked), new Set(['3 green']));
});
