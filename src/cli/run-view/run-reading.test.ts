import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { growingRun } from '../../../test/growing-run.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { systemClock } from '@updraft/base';
import { acquireLease, identifyProcess } from '@updraft/base/processes';
import { Fault } from '@updraft/account/fault';
import { jobId, runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../job/load-plan.ts';
import { localPoolFolder } from '../../pool/local/machine.ts';
import { Shares } from '../../pool/local/shares.ts';
import * as compare from '../commands/compare.ts';
import * as logs from '../commands/logs.ts';
import * as report from '../commands/report.ts';
import * as results from '../commands/results.ts';
import * as retry from '../commands/retry.ts';
import * as status from '../commands/status.ts';
import * as stop from '../commands/stop.ts';
import * as why from '../commands/why.ts';

const journals = path.join(import.meta.dirname, '../../../test/journals');

test('status prints a row per job with its state, try, place, bytes, epoch and metrics', async () => {
  const { out, err } = await runCommand(status, ['retry-then-failure'], { cwd: journals });
  assert.match(out, /^run cifar10-k3v9q1, pool local: 2 jobs, 1 success, 1 failed$/m);
  assert.match(out, /^0000 +1 +success +node-a +170 MB +2\/2 +1\.07 +0\.61 +cifar10\.pt 2\.5 MB$/m);
  assert.match(out, /^0001 +2 +failed +node-a +170 MB +1\/2 +NaN +the training ended with status 1$/m);
  assert.match(err, /next:\n {2}updraft report retry-then-failure/);
});

test('status --json is the state of the run', async () => {
  const { out } = await runCommand(status, ['retry-then-failure', '--json'], { cwd: journals });
  const state = JSON.parse(out) as { folder: string; tally: object; jobs: { attempts: unknown[] }[] };
  assert.equal(state.folder, path.join(journals, 'retry-then-failure'));
  assert.deepEqual(
    state.jobs.map(({ attempts }) => attempts.length),
    [1, 2],
  );
});

test('the page of a report draws what a run measured, as the dashboard does', async (t) => {
  const page = path.join(await temporaryFolder(t), 'page.html');
  await runCommand(report, ['retry-then-failure', '--html', page], { cwd: journals });
  const html = await readFile(page, 'utf8');
  const results = html.slice(html.indexOf('<section id="results"'));
  assert.match(results, /<figcaption>accuracy over epochs<\/figcaption>/);
  assert.match(results, /class="rank"[^>]*data-rank="0">1<\/text><text[^>]*>0000<\/text>/);
  assert.match(results, /<path [^>]*class="line"[^>]*data-rank="0"/);
});

test('report --json has the documented keys, and its seconds add up', async () => {
  const { out } = await runCommand(report, ['retry-then-failure', '--json'], { cwd: journals });
  const got = JSON.parse(out) as {
    jobs: object;
    slotSeconds: Record<string, number>;
    usefulShare: number;
    completion: object;
    failures: { cause: string; jobs: number; share: number }[];
    attemptRows: { totalSeconds: number }[];
  };
  assert.deepEqual(got.jobs, {
    total: 2,
    success: 1,
    suspicious: 0,
    'wrong-output': 0,
    failed: 1,
    held: 0,
    removed: 0,
    running: 0,
    waiting: 0,
  });
  assert.deepEqual(got.completion, { meanSeconds: 55, medianSeconds: 55, p95Seconds: 55 });
  const [failure] = got.failures;
  assert.deepEqual([failure?.cause, failure?.jobs, failure?.share], ['training-failed', 1, 1]);
  assert.equal(got.usefulShare, 42 / 117);
  const columns = Object.values(got.slotSeconds).reduce((sum, seconds) => sum + seconds, 0);
  const rows = got.attemptRows.reduce((sum, { totalSeconds }) => sum + totalSeconds, 0);
  assert.deepEqual([columns, rows], [132, 132]);
});

test('report folds small columns into one on a narrow screen, and each row still adds up', async () => {
  const { out } = await runCommand(report, ['retry-then-failure'], {
    cwd: journals,
    columns: 60,
    outIsTerminal: true,
  });
  assert.match(out, /^ {2}job +try +end +where .* other +total$/m);
  for (const line of out.split('\n')) assert.ok(line.length <= 60, line);
});

test('logs prints the output of a job, of the requested attempt and stream', async (t) => {
  const cwd = await temporaryFolder(t);
  const growing = await growingRun(t, cwd, ['0000', '0001']);
  await growing.succeed('0001');
  await growing.print('0001', 1, 'epoch 1 größe\x1b[2J\n');
  await growing.print('0001', 1, 'Traceback\n', 'err');
  const ask = async (...args: string[]) => (await runCommand(logs, args, { cwd })).out;
  assert.equal(await ask('1'), 'epoch 1 größe\x1b[2J\n', 'unchanged, into a file');
  assert.equal(await ask('cifar10', '0001', '--err'), 'Traceback\n');
  assert.equal(await ask('1', '--attempt', '1'), 'epoch 1 größe\x1b[2J\n');
  const { out } = await runCommand(logs, ['1'], { cwd, outIsTerminal: true });
  assert.equal(out, 'epoch 1 größe\ufffd[2J\n', 'harmless, on a terminal');
});

test('logs lists the jobs and attempts when the choice is missing or unknown', async (t) => {
  const cwd = await temporaryFolder(t);
  const growing = await growingRun(t, cwd, ['0000', '0001']);
  await growing.succeed('0001');
  const fix = async (...args: string[]) => {
    const thrown: unknown = await runCommand(logs, args, { cwd }).catch((error: unknown) => error);
    assert.ok(thrown instanceof Fault && thrown.kind === 'usage');
    return `${thrown.message}; ${thrown.fix ?? ''}`;
  };
  assert.match(await fix(), /2 jobs, 0000 to 0001: choose one; .*updraft logs cifar10-k3v9q1 0000$/);
  assert.match(await fix('cifar10', '7'), /has no job "7"; use one of its jobs, 0000 to 0001/);
  assert.match(await fix('1', '--attempt', '3'), /choose one of 1$/);
});

test('logs -f continues into the next attempt and ends with the job, without losing a byte', async (t) => {
  const cwd = await temporaryFolder(t);
  const growing = await growingRun(t, cwd, ['0000']);
  await growing.run({ kind: 'attempt-started', job: '0000', attempt: 1, why: '' });
  await growing.print('0000', 1, 'one\n');
  let out = '';
  const seen = Promise.withResolvers<undefined>();
  const following = runCommand(logs, ['-f'], {
    cwd,
    out: (text) => {
      out += text;
      if (out.includes('one')) seen.resolve(undefined);
    },
  });
  await seen.promise;
  await growing.print('0000', 1, 'two\n');
  await growing.run({ kind: 'attempt-ended', job: '0000', attempt: 1, outcome: 'evicted', exit: 113 });
  await growing.run({ kind: 'attempt-started', job: '0000', attempt: 2, why: 'evicted' });
  await growing.print('0000', 2, 'three\n');
  await growing.run(
    { kind: 'attempt-ended', job: '0000', attempt: 2, outcome: 'success', exit: 0 },
    { kind: 'job-ended', job: '0000', outcome: 'success' },
  );
  const { err } = await following;
  assert.equal(out, 'one\ntwo\nthree\n');
  assert.match(err, /--- attempt 2 ---/);
});

test('on a terminal similar jobs of a large run share a line, in a file each has its own', async (t) => {
  const cwd = await temporaryFolder(t);
  const ids = Array.from({ length: 50 }, (_, index) => jobId(index));
  const growing = await growingRun(t, cwd, ids);
  await growing.run({ kind: 'attempt-started', job: '0007', attempt: 1, why: '' });
  const { out } = await runCommand(status, [], { cwd, outIsTerminal: true });
  const jobs = out.split('\n').filter((line) => /^\d/.test(line));
  assert.deepEqual(
    jobs.map((line) => line.split(/ {2,}/)[0]),
    ['0000 to 0006', '0007', '0008 to 0049'],
  );
  const { out: file } = await runCommand(status, [], { cwd });
  assert.equal(file.split('\n').filter((line) => /^\d/.test(line)).length, 50);
});

test('on a narrow terminal notes replace figures, and every line fits', async () => {
  const context = { cwd: journals, outIsTerminal: true, columns: 60 };
  const { out } = await runCommand(status, ['retry-then-failure'], context);
  assert.match(out, /^0001 +2 +failed +NaN +the training ended/m);
  assert.match(out, /^Not shown at this width: WHERE, BYTES, EPOCH\./m);
  for (const line of out.split('\n')) assert.ok(line.length <= 60, line);
});

test('status, results and why say which metrics were not kept', async (t) => {
  const cwd = await temporaryFolder(t);
  const growing = await growingRun(t, cwd, ['0000']);
  await growing.run({ kind: 'attempt-started', job: '0000', attempt: 1, why: 'first try' });
  await growing.agent(
    '0000',
    1,
    { kind: 'agent-started', version: '1', host: 'node-a', pid: 1, gpus: [] },
    { kind: 'progress', loss: 1 },
    { kind: 'metrics-refused', why: 'too-many', count: 5, examples: ['layer33', 'layer34', 'layer35'] },
  );
  const said = /5\s+metrics (?:of job 0000 )?were not kept \(such as "layer33", "layer34",\s+"layer35"\)/;
  for (const command of [status, results]) assert.match((await runCommand(command, [], { cwd })).err, said);
  assert.match((await runCommand(why, [], { cwd })).out, said);
});

test('a job whose attempt has succeeded is returning its results, not waiting', async (t) => {
  const cwd = await temporaryFolder(t);
  const growing = await growingRun(t, cwd, ['0000', '0001']);
  for (const [job, outcome] of [
    ['0000', 'success'],
    ['0001', 'evicted'],
  ] as const) {
    await growing.run({ kind: 'attempt-started', job, attempt: 1, why: 'first try' });
    await growing.run({ kind: 'attempt-ended', job, attempt: 1, outcome, exit: 0 });
  }
  const { out } = await runCommand(status, [], { cwd });
  assert.match(out, /^0000 +1 +returning\b/m);
  assert.match(out, /^0001 +1 +waiting\b/m);
  assert.match(out, /2 jobs, 1 waiting, 1 running$/m);
});

test('status says whose runs have the machine that a local run waits for', async (t) => {
  const cwd = await temporaryFolder(t);
  const { folder } = await growingRun(t, cwd, ['0000']);
  const env = { XDG_STATE_HOME: path.join(cwd, 'state') };
  const self = identifyProcess(process.pid);
  assert.ok(self !== undefined);
  const lease = await acquireLease(path.join(folder, runFiles.supervisor), self);
  assert.doesNotMatch((await runCommand(status, [], { cwd, env })).err, /waiting for this machine/);
  const machine = { cpus: 2, memoryBytes: 1000, gpus: [] };
  const shares = new Shares(localPoolFolder(env), machine, self, systemClock);
  await shares.take('/home/runs/other-9/jobs/0000/attempt-1', {
    ...{ cpus: 2, memoryBytes: 1, gpus: 0, diskBytes: 'auto' },
  });
  const { err } = await runCommand(status, [], { cwd, env });
  await lease?.release();
  assert.match(err, /^waiting for this machine: other runs have 2 CPUs of it \(other-9\)$/m);
});

test('a run that a newer version made is called that', async (t) => {
  const created = '{"v":2,"t":"2027-01-01T00:00:00Z","seq":0,"kind":"run-created","run":"x-1"}\n';
  const cwd = await temporaryFolder(t, { 'runs/x-1/journal.jsonl': created });
  await assert.rejects(runCommand(status, [], { cwd }), {
    message: 'a newer version of Updraft made this run',
    fix: /^use the version that made the run/,
  });
});

test('results, compare and status judge metrics as the job file says', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml': `name = "x"
[train]
command = "t {lr}"
outputs = ["m"]
[run]
repeat = 6
matrix = { lr = [1, 2] }
[results]
smaller_is_better = ["energy"]
`,
  });
  const plan = await loadPlan(path.join(cwd, 'updraft.toml'));
  const growing = await growingRun(
    t,
    cwd,
    plan.jobs.map(({ id }) => id),
  );
  await writeFile(path.join(growing.folder, runFiles.plan), JSON.stringify(plan));
  for (const [at, { id, parameters }] of plan.jobs.entries()) {
    const energy = Number(parameters['lr']) * 10 + at / 10;
    await growing.agent(
      id,
      1,
      { kind: 'training-started', pid: 2, command: 't' },
      { kind: 'progress', epoch: 1, metrics: { val_energy: energy - 1 } },
      { kind: 'progress', epoch: 2, metrics: { val_energy: energy } },
    );
    await growing.succeed(id);
  }
  const rows = JSON.parse((await runCommand(results, ['--json'], { cwd })).out) as { best: unknown }[];
  assert.deepEqual(rows[0]?.best, { val_energy: 9 });
  assert.match((await runCommand(results, [], { cwd })).err, /--sort val_energy --top 10 +the best ten/);
  const { out } = await runCommand(compare, ['--by', 'lr'], { cwd });
  assert.match(out, /lr=1 has a lower val_energy than lr=2|1 has a lower val_energy than 2/);
});

test('why, retry and a stop name the jobs of a sweep by their parameters, the first few of many', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml':
      'name = "x"\n[train]\ncommand = "t {lr}"\noutputs = ["m"]\n[run.matrix]\nlr = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n',
  });
  const plan = await loadPlan(path.join(cwd, 'updraft.toml'));
  const ids = plan.jobs.map(({ id }) => id);
  const growing = await growingRun(t, cwd, ids);
  await writeFile(path.join(growing.folder, runFiles.plan), JSON.stringify(plan));
  for (const job of ids.slice(0, 8)) {
    await growing.run({ kind: 'attempt-started', job, attempt: 1, why: 'first try' });
    const fault = { kind: 'training-failed' as const, message: 'exit code 3' };
    await growing.run({ kind: 'attempt-ended', job, attempt: 1, outcome: 'failed', exit: 3, fault });
    await growing.run({ kind: 'job-ended', job, outcome: 'failed' });
  }
  const said = async (command: Pick<typeof why, 'configure'>, ...words: string[]): Promise<string> => {
    const { out, err } = await runCommand(command, words, { cwd });
    return `${out}${err}`.replaceAll(/\s+/g, ' ');
  };
  const named = /0000 lr=1, 0001 lr=2, 0002 lr=3, 0003 lr=4, 0004 lr=5, 0005 lr=6 and 2 more/;
  assert.match(await said(why), named);
  assert.match(await said(retry, '--dry-run'), named);
  assert.match(await said(stop, '3', '--yes'), /nothing to stop in \S+: what you named has ended/);
  const asked: string[] = [];
  const ask = (question: string): Promise<string> => {
    asked.push(question);
    return Promise.resolve('n');
  };
  await runCommand(stop, ['3', '8'], { cwd, ask });
  assert.match(asked.join(''), /^Stop job 0003 lr=4, 0008 lr=9 of cifar10-k3v9q1\?/);
});
