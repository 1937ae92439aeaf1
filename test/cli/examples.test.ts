import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { type Env, systemClock } from '@updraft/base';
import type { Cli } from '../../src/cli/cli.ts';
import { buildProgram, configureOf } from '../../src/cli/command-line.ts';
import { helpOf } from '../../src/cli/help.ts';
import { printFault } from '../../src/cli/print-fault.ts';
import { asFault } from '@updraft/account/fault';
import { attemptFiles, attemptFolder, runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import { openJournal } from '@updraft/account/journal';
import { startFederation } from '@updraft/mini/federation';
import { createRun } from '../../src/run/create-run.ts';
import { projectRoot, RunHarness } from '../run/run-harness.ts';
import { exampleWords } from './example-words.ts';
import { runCommand } from './run-command.ts';
import { cliMain } from '../programs.ts';

/** Examples that no test folder can satisfy; `src/cli/help.test.ts` parses them. */
const notRun: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/retry tune/, 'needs a search: test/run/retry-search.test.ts'],
  [/^updraft rehearse/, 'takes a minute: test/run/rehearse.test.ts'],
  [/--pool condor|^updraft shell/, 'needs an HTCondor pool: test/condor, test/adopt'],
  [/^updraft doctor/, 'imports PyTorch, for seconds: src/cli/commands/doctor.test.ts'],
  [/^updraft bundle/, 'asks doctor: test/cli/bundle.test.ts'],
  [/mini pool up/, 'builds a pool for minutes: test/mini/pool.test.ts'],
  [/^updraft demo|^cd updraft-demo/, 'trains with PyTorch for minutes'],
  [/^updraft login|federation approve/, 'waits for a person: test/objects/login.test.ts'],
  [/^updraft env (lock|make|pack|stage|image)/, 'needs Pixi and an archive: test/environment'],
  [/^updraft env agent/, 'uploads 50 MB'],
  [/^updraft runs rm/, 'removes a run by its name: test/run/runs-command.test.ts'],
  [/cat --staged/, 'the name has the hash of its content: test/objects/cat.test.ts'],
];

/** Examples that serve until they are interrupted, and what they print then. */
const serving: readonly (readonly [pattern: RegExp, until: RegExp])[] = [
  [/^updraft dashboard$/, /http:\/\/\S+/],
  [/federation up (?!.*--detach)/, /running; press Ctrl-C/],
];

const jobFile = (jobs: number, more = ''): string => `name = "cifar10"
[train]
command = "echo trained > model.pt"
outputs = ["model.pt"]
[run]
jobs = ${jobs}
pool = "local"
[resources]
cpus = 1
memory = "10 MB"
${more}`;

const submitFile = `universe = vanilla
executable = train.sh
log = my.log
transfer_output_files = model.pt
request_cpus = 1
request_memory = 1 GB
request_disk = 1 GB
queue
`;

const event = (number: string, text: string): string =>
  `${number} (012.003.000) 2026-11-15 10:00:00 ${text}\n...\n`;
const eventLog = [
  event('000', 'Job submitted from host: <10.0.0.1:9618?alias=ap.example.org>'),
  event('012', 'Job was held.\n\tvia condor_hold (by user me)\n\tCode 1 Subcode 0'),
].join('');

/** A user's folder in which the names of the examples exist. */
async function userFolder(t: TestContext): Promise<{ cwd: string; env: Env }> {
  const { folder: cwd, env } = await RunHarness.make(t);
  for (const folder of [
    'data',
    'train',
    'images',
    'results',
    'examples/cifar10',
    'experiments/resnet',
    'published/images',
  ])
    await mkdir(path.join(cwd, folder), { recursive: true });
  const files: Record<string, string> = {
    'updraft.toml': jobFile(8),
    'examples/cifar10/updraft.toml': jobFile(1),
    'experiments/resnet/updraft.toml': jobFile(1, '[data.images]\nurl = "osdf:///demo/set.tar.gz"\n'),
    'train.sub': submitFile,
    'train.sh': '#!/bin/sh\nset -e\necho trained > model.pt\n',
    'my.log': eventLog,
    'model.pt': 'trained',
    'results/model.pt': 'trained',
    'train/a.txt': 'a',
    'data/old.tar': 'a',
  };
  for (const name of ['a.tar', 'b.tar', 'train.tar', 'labels.csv', 'images/1.jpg'])
    files[`published/${name}`] = name;
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(cwd, name), text);
  await cp(path.join(projectRoot, 'test/environment/workspaces/v6'), cwd, { recursive: true });
  await promisify(execFile)('tar', ['-czf', 'published/set.tar.gz', 'train'], { cwd });
  await endedRun(t, cwd);
  return { cwd, env };
}

/** A run of the job file here, of which two jobs have failed. */
async function endedRun(t: TestContext, cwd: string): Promise<void> {
  const plan = await loadPlan(cwd);
  const folder = await createRun(plan, {}, '0.0.0', systemClock);
  const journal = await openJournal(path.join(folder, runFiles.journal), systemClock);
  t.after(() => journal.close());
  for (const { id: job } of plan.jobs) {
    const outcome = job === '0003' || job === '0007' ? 'failed' : 'success';
    const own = attemptFolder(folder, job, 1);
    await mkdir(own, { recursive: true });
    await writeFile(path.join(own, attemptFiles.out), 'epoch 1\n');
    await writeFile(path.join(own, attemptFiles.err), 'Traceback\n');
    await journal.append({ kind: 'attempt-started', job, attempt: 1, why: 'first try' });
    await journal.append({
      kind: 'attempt-ended',
      job,
      attempt: 1,
      outcome,
      exit: outcome === 'failed' ? 1 : 0,
    });
    await journal.append({ kind: 'job-ended', job, outcome });
  }
  await journal.append({ kind: 'run-ended', succeeded: 6, failed: 2 });
}

/** A federation with `/demo`, and `/inbox`, which accepts the user's token. */
async function federationOf(t: TestContext, cwd: string): Promise<Env> {
  await mkdir(path.join(cwd, 'inbox/me/old'), { recursive: true });
  const federation = await startFederation({
    caches: 1,
    namespaces: [
      { prefix: '/demo', folder: path.join(cwd, 'published'), public: true },
      { prefix: '/inbox', folder: path.join(cwd, 'inbox'), public: false, writable: true },
    ],
  });
  t.after(() => federation.stop());
  const token = path.join(cwd, 'token');
  await writeFile(token, federation.issueToken({}), { mode: 0o600 });
  return {
    UPDRAFT_OSDF_HOST: federation.discoveryHost,
    SSL_CERT_FILE: federation.caFile,
    BEARER_TOKEN_FILE: token,
  };
}

test('every example of the help texts runs', async (t) => {
  const { cwd, env } = await userFolder(t);
  const cli: Partial<Cli> & { cwd: string } = { cwd, env: { ...env, ...(await federationOf(t, cwd)) } };
  const reasons = new Map(notRun.map(([, why]) => [why, 0]));
  for (const command of withSubcommands(await buildProgram({ ...cli, version: '0.0.0' } as Cli, 'all')))
    for (const [line] of helpOf(command).examples) {
      const why = notRun.find(([pattern]) => pattern.test(line))?.[1];
      if (why === undefined) await t.test(line, async () => assertRuns(line, cli));
      else reasons.set(why, (reasons.get(why) ?? 0) + 1);
    }
  for (const [why, count] of reasons) assert.ok(count > 0, `no example is left out because it ${why}`);
});

const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
];

async function assertRuns(line: string, context: Partial<Cli> & { cwd: string }): Promise<void> {
  const [name = '', ...args] = exampleWords(line);
  const until = serving.find(([pattern]) => pattern.test(line))?.[1];
  const stop = new AbortController();
  let said = '';
  const say = (text: string): void => {
    said += text;
    if (until?.test(said) === true) stop.abort(new Error('seen enough'));
  };
  const cli = {
    ...context,
    cwd: await folderFor(name, context.cwd),
    out: say,
    err: say,
    // Only deleting asks something that has no default.
    ask: name === 'rm' ? () => Promise.resolve('yes') : undefined,
    signal: stop.signal,
    self: [process.execPath, cliMain],
    pid: process.pid,
    kill: (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal),
  };
  try {
    await runCommand({ configure: await configureOf(name) }, args, cli);
  } catch (thrown) {
    if (stop.signal.aborted) return;
    const fault = asFault(thrown);
    printFault(cli as Cli, fault, false);
    // Two jobs of the run have failed, which `run` and `watch` report.
    if (!/^updraft: 2 of 8 jobs .* have no valid result$/m.test(said)) assert.fail(said);
  }
  assert.notEqual(said, '', `${line} prints nothing`);
}

/** `init` needs a folder without a job file. */
async function folderFor(command: string, cwd: string): Promise<string> {
  if (command === 'init') {
    const folder = await mkdtemp(path.join(cwd, 'new-'));
    await writeFile(path.join(folder, 'train.py'), 'import torch\n\ntorch.save({}, "model.pt")\n');
    return folder;
  }
  return cwd;
}
