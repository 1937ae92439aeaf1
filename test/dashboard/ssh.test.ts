import assert from 'node:assert/strict';
import { access, chmod, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { SubmitFacts } from '../../src/adopt/submit-facts.ts';
import { parseSubmit } from '../../src/adopt/parse-submit.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { findOutput } from '../../src/cli/adopt/find-output.ts';
import { adoptedPlan } from '../../src/cli/adopt/submit-adopted.ts';
import { openRemoteRun, type RemoteRun } from '../../src/dashboard/remote-run.ts';
import { RunHub } from '../../src/dashboard/run-hub.ts';
import { Fault } from '../../src/fault/fault.ts';
import { followRun } from '../../src/journal/follow-run.ts';
import { loadRun } from '../../src/journal/load-run.ts';
import { accountFiles, isAdopted } from '../../src/pool/condor/condor-files.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { imagenetRun } from './imagenet-run.ts';
import { describeJob } from './served.ts';
import { sshServer } from './ssh-server.ts';

/** Short, real waits. */
const hurried: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal) };

/**
 * An `ssh` that notes its arguments and runs the command on this machine: our side of the connection is tried, not
 * OpenSSH's.
 */
async function fakeSsh(t: TestContext): Promise<{ env: { PATH: string }; argumentsFile: string }> {
  const folder = await temporaryFolder(t);
  const argumentsFile = path.join(folder, 'arguments');
  const script = `#!/bin/sh
printf '%s\\n' "$@" > ${argumentsFile}
while [ "$1" != -- ]; do shift; done
[ "$2" = broken.example ] && { echo 'ssh: connect to host broken.example: no route' >&2; exit 255; }
cd / && exec sh -c "$3"
`;
  await writeFile(path.join(folder, 'ssh'), script);
  await chmod(path.join(folder, 'ssh'), 0o755);
  return { env: { PATH: `${folder}:/usr/bin:/bin` }, argumentsFile };
}

const remote = (address: string, env: { PATH: string }): Promise<RemoteRun> =>
  openRemoteRun(address, {
    env,
    clock: hurried,
    patterns: accountFiles,
    printedFile: async (folder, job, stream) => {
      const printed = await findOutput({}, folder, job, stream);
      return typeof printed === 'string' ? printed : printed.file;
    },
    follow: (folder, signal) => followRun(folder, { clock: hurried, signal }),
  });

test('a run on another machine is followed over ssh, live, and its logs are read', async (t) => {
  const { env, argumentsFile } = await fakeSsh(t);
  const written = await imagenetRun(
    path.join(await temporaryFolder(t), "it's a run; $(touch x)"),
    Date.now(),
    16,
  );
  await using run = await remote(`me@ap1.example:${written.folder}`, env);
  assert.deepEqual((await readFile(argumentsFile, 'utf8')).trim().split('\n'), [
    '-T',
    '-o',
    'ServerAliveInterval=15',
    '--',
    'me@ap1.example',
    'exec sh',
  ]);
  // The file system knows when a journal last grew.
  const reported = async (folder: string) =>
    (await loadRun(folder)).jobs.map((job) => ({
      ...job,
      attempts: job.attempts.map((attempt) => ({ ...attempt, heardAt: 0 })),
    }));
  assert.deepEqual(await reported(run.folder), await reported(written.folder));
  const done = new AbortController();
  let grown = false;
  for await (const state of run.follow(done.signal)) {
    if (state.jobs[7]?.outcome === 'success') break;
    if (!grown) await written.append(5399, { kind: 'job-ended', job: '0007', outcome: 'success' });
    grown = true;
  }
  const log = await run.readEnd('jobs/0002/attempt-2/out.log', 20);
  assert.deepEqual(log, { text: 'job 0002, attempt 2\n', size: 36, from: 16 });
  assert.deepEqual(await run.readEnd('jobs/0002/attempt-2/err.log', 20), { text: '', size: 0, from: 0 });
  assert.equal(run.stop, undefined);
});

test('an adopted run is recognized over ssh, and its output is read where HTCondor puts it', async (t) => {
  const { env } = await fakeSsh(t);
  const description = 'executable = x\noutput = $(Process).out\nqueue\n';
  const entry = { v: 1, t: '2026-01-01T00:00:00.000Z', seq: 0, kind: 'run-created', run: 'r-1', name: 'r' };
  const created = { ...entry, pool: 'condor', jobs: ['0000'], planHash: '', version: '0' };
  const folder = await temporaryFolder(t, {
    'adopted/condor/job.sub': description,
    'adopted/journal.jsonl': `${JSON.stringify(created)}\n`,
    'own/condor/job.sub': description,
    'own/condor/jobs.items': '0000\n',
    'own/journal.jsonl': `${JSON.stringify(created)}\n`,
    '0.out': 'epoch 1\n',
  });
  const submission = parseSubmit(description, { file: 'job.sub' });
  const plan = adoptedPlan(path.join(folder, 'job.sub'), { submission } as SubmitFacts);
  await writeFile(path.join(folder, 'adopted/plan.json'), JSON.stringify(plan));
  await using adopted = await remote(`ap1.example:${folder}/adopted`, env);
  await using own = await remote(`ap1.example:${folder}/own`, env);
  assert.deepEqual([await isAdopted(adopted.folder), await isAdopted(own.folder)], [true, false]);
  const file = await adopted.outputFile?.('0000', 'out');
  assert.equal(file, path.join(folder, '0.out'));
  assert.equal((await adopted.readEnd(file, 100)).text, 'epoch 1\n');
});

test('the copy of a journal that was replaced by a shorter one is replaced too', async (t) => {
  const { env } = await fakeSsh(t);
  const parent = await temporaryFolder(t);
  const long = await imagenetRun(path.join(parent, 'long'), Date.now(), 16);
  const short = await imagenetRun(path.join(parent, 'short'), Date.now(), 2);
  await using run = await remote(`ap1.example:${long.folder}`, env);
  const done = new AbortController();
  let replaced = false;
  for await (const state of run.follow(done.signal)) {
    // Attempts that the journal no longer names still have their journals.
    if (state.name === 'imagenet' && state.run === 'short') break;
    if (!replaced)
      await rename(path.join(short.folder, 'journal.jsonl'), path.join(long.folder, 'journal.jsonl'));
    replaced = true;
  }
});

test('nothing is left of the copy when it is closed', async (t) => {
  const { env } = await fakeSsh(t);
  const written = await imagenetRun(path.join(await temporaryFolder(t), 'run-1'), Date.now(), 2);
  const run = await remote(`ap1.example:${written.folder}`, env);
  await access(run.folder);
  await run[Symbol.asyncDispose]();
  await assert.rejects(access(run.folder));
});

test('an unreachable host, a folder without a run, and an invalid address are errors', async (t) => {
  const { env } = await fakeSsh(t);
  const empty = await temporaryFolder(t);
  const cases: [string, RegExp][] = [
    ['broken.example:runs/x', /no connection to broken\.example: ssh: .*no route/],
    [`ap1.example:${empty}`, /is not the folder of a run/],
    [`ap1.example:${empty}/absent`, /is not the folder of a run/],
    ['ap1.example', /is not HOST:FOLDER/],
    ['-oProxyCommand=touch x:folder', /is not a host name/],
    ['a b:folder', /is not a host name/],
  ];
  for (const [address, message] of cases)
    await assert.rejects(
      remote(address, env),
      (error) => error instanceof Fault && message.test(error.message),
    );
});

test('over a real OpenSSH a run is followed, also after a cut connection, which is reported', async (t) => {
  const server = await sshServer(t);
  if (server === undefined) return;
  const parent = await temporaryFolder(t);
  await chmod(parent, 0o755);
  const written = await imagenetRun(path.join(parent, "it's a run"), Date.now(), 8);
  await using run = await remote(`ap.example:${written.folder}`, server.env);
  const hub = new RunHub(run, describeJob, hurried);
  const done = new AbortController();
  const following = hub.run(done.signal);
  t.after(async () => {
    done.abort();
    await following;
  });
  await heard(hub, () => hub.state?.jobs.length === 8);
  server.answer(false);
  server.cut();
  await heard(hub, () => hub.trouble !== null);
  assert.match(hub.trouble ?? '', /no connection to ap\.example.*; Updraft keeps trying/s);
  await written.append(5399, { kind: 'job-ended', job: '0007', outcome: 'success' });
  server.answer(true);
  await heard(hub, () => hub.trouble === null && hub.state?.jobs[7]?.outcome === 'success');
  assert.ok(server.connections() > 1);
  const log = await run.readEnd('jobs/0002/attempt-2/out.log', 20);
  assert.deepEqual(log, { text: 'job 0002, attempt 2\n', size: 36, from: 16 });
});

/** Resolves after a change of the hub that meets the condition. */
function heard(hub: RunHub, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const forget = hub.listen(() => {
      if (!isSo()) return;
      forget();
      resolve();
    });
    hub.refresh();
  });
}
