import assert from 'node:assert/strict';
import { chmod, copyFile, lstat, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import * as adopt from '../../src/cli/commands/adopt.ts';
import * as logs from '../../src/cli/commands/logs.ts';
import { Fault } from '@updraft/account/fault';
import type { RunState } from '@updraft/account/journal';
import { startFederation } from '@updraft/mini/federation';
import { condorFiles } from '../../src/pool/htcondor.ts';
import { followRunStates } from '../../src/run/run-states.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, result } from '../condor/condor-harness.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { hangMs } from '../hang-limit.ts';

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
  submitted?: { folder: string; cluster: number };
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

async function finalState(folder: string): Promise<RunState | undefined> {
  let last: RunState | undefined;
  const signal = AbortSignal.timeout(hangMs);
  for await (const state of followRunStates(folder, { clock: systemClock, signal })) last = state;
  return last;
}

test('a file is submitted unchanged, and its run is followed although every job has its own log', async (t) => {
  const files = {
    'job.sub': description,
    'run.sh': '#!/bin/sh\nset -e\necho "job $1"\necho m > model.pt\n[ "$1" != 1 ]\n',
  };
  const harness = await project(t, files);
  if (harness === undefined) return;
  // Run twice at once, which makes one run.
  const [{ submitted, condor, findings }, beside] = await Promise.all([
    harness.run('job.sub', '--submit'),
    harness.run('job.sub', '--submit'),
  ]);
  assert.deepEqual([findings, condor.accepted, condor.messages], [[], true, []]);
  assert.deepEqual(beside.submitted, submitted);
  const state = await finalState(submitted?.folder ?? '');
  assert.deepEqual(
    state?.jobs.map(({ outcome, attempts }) => [outcome, attempts.length]),
    [
      ['success', 1],
      ['failed', 2],
    ],
  );
  const own = await readFile(path.join(harness.cwd, `own.${submitted?.cluster ?? ''}.0.log`), 'utf8');
  assert.match(own, /^005 /m);
  assert.equal(await readFile(path.join(harness.cwd, 'model.0.pt'), 'utf8'), 'm\n');
  assert.equal(await readFile(path.join(harness.cwd, 'job.sub'), 'utf8'), description);
  const { out } = await runCommand(logs, [path.basename(submitted?.folder ?? ''), '1'], { cwd: harness.cwd });
  assert.equal(out, 'job 1\n');
});

test("a file is submitted with Updraft's plugin, which fetches osdf inputs, from a folder of almost any name", async (t) => {
  const published = await temporaryFolder(t, { 'data.txt': 'the data\n' });
  const namespaces = [{ prefix: '/demo', folder: published, public: true }];
  await using federation = await startFederation({ namespaces });
  const environment = `"PELICAN_OSDF_HOST=${federation.discoveryHost} PELICAN_SSL_CERT_FILE=ca.pem"`;
  const more = `transfer_input_files = ca.pem, osdf:///demo/data.txt\nenvironment = ${environment}\nqueue 1`;
  const job = description.replace('queue 2', more).replace('request_disk = 100 MB', 'request_disk = 400 MB');
  const script = '#!/bin/sh\nset -e\ncp data.txt model.pt\n';
  const [odd, split] = ["of é 'x' $(y)", 'a, b'];
  const files = Object.fromEntries([odd, split].map((name) => [`${name}/job.sub`, job]));
  const harness = await project(t, { ...files, [`${odd}/run.sh`]: script, [`${split}/run.sh`]: script });
  if (harness === undefined) return;
  await copyFile(federation.caFile, path.join(harness.cwd, odd, 'ca.pem'));
  const planted = path.join(harness.cwd, odd, condorFiles.plugin);
  await symlink('run.sh', planted);
  const { submitted } = await harness.run(`${odd}/job.sub`, '--with-plugin', '--yes');
  assert.equal(await readFile(path.join(harness.cwd, odd, 'run.sh'), 'utf8'), script, 'no link is followed');
  assert.ok((await lstat(planted)).isFile());
  const state = await finalState(submitted?.folder ?? '');
  assert.equal(state?.tally.success, 1, JSON.stringify(state?.jobs));
  assert.equal(await readFile(path.join(harness.cwd, odd, 'model.0.pt'), 'utf8'), 'the data\n');
  await assert.rejects(harness.run(`${split}/job.sub`, '--with-plugin', '--yes'), /splits its lists at ","/);
});

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
