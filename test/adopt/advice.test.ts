import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import type { Finding } from '../../src/base/finding.ts';
import { waitForChange } from '../../src/base/wait-for-change.ts';
import { lintSubmission } from '../../src/adopt/lint.ts';
import { surveyOnDisk } from '../../src/adopt/disk-files.ts';
import { submitLimits } from '../../src/pool/submit-limits.ts';
import { condorProfiles } from '../../src/pool/condor/submit/profiles.ts';
import * as report from '../../src/cli/commands/report.ts';
import { runCommand } from '../cli/run-command.ts';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { realCondorSubmit } from './condor-submit.ts';

async function lint(folder: string, lines: readonly string[]): Promise<Finding[]> {
  const file = path.join(folder, 'job.sub');
  await writeFile(file, `${lines.join('\n')}\n`);
  const limits = submitLimits(condorProfiles.htcondor);
  return lintSubmission(surveyOnDisk({ file, env: {}, now: new Date('2026-11-15T00:00:00Z'), limits }));
}

/** The fix of a rule, with its lines for the submit file. */
async function adviceFor(folder: string, rule: string, lines: readonly string[]): Promise<string> {
  const found = (await lint(folder, lines)).find((finding) => finding.rule === rule);
  assert.ok(found !== undefined, `no finding ${rule}`);
  return found.fix;
}

/** A user at the access point of the shared pool; undefined, and the test skipped, where there is none. */
async function accessPoint(t: TestContext) {
  const pool = await testPool(t);
  if (pool === undefined) return undefined;
  const folder = await temporaryFolder(t);
  const at = (name: string): string => path.join(folder, name);
  const tool = async (name: string, ...args: string[]): Promise<string> =>
    (await promisify(execFile)(path.join(pool.bin, name), args, { cwd: folder })).stdout.trim();
  const events = (log: string, code: string): number =>
    existsSync(at(log)) ? readFileSync(at(log), 'utf8').split(`\n${code} (`).length - 1 : 0;
  return {
    folder,
    at,
    tool,
    /** Submits jobs, and returns their cluster. */
    async submit(name: string, lines: readonly string[]): Promise<string> {
      await writeFile(at(`${name}.sub`), [...lines, ''].join('\n'));
      const [cluster = ''] = (await tool('condor_submit', '-terse', `${name}.sub`)).split('.');
      t.after(() => tool('condor_rm', cluster).catch(() => undefined));
      return cluster;
    },
    /** Waits until the log has this number of holds. */
    async held(log: string, times: number): Promise<void> {
      const signal = AbortSignal.timeout(240_000);
      while (events(log, '012') < times) await waitForChange([at(log)], 500, systemClock, signal);
    },
    /** Waits until no job of the log is left. */
    ended: (log: string): Promise<string> => tool('condor_wait', '-wait', '240', log),
    attempts: (log: string): number => events(log, '001'),
  };
}

const job = (executable: string, log: string): string[] => [
  `executable = ${executable}`,
  'transfer_executable = false',
  'should_transfer_files = YES',
  `log = ${log}`,
];

test('advised lines end jobs that never work, and the commands of a mail end their holds', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, tool } = here;
  const restart = await adviceFor(folder, 'endless-restart', [
    ...job('/bin/false', 'a.log'),
    'on_exit_remove = ExitCode == 0',
    'queue',
  ]);
  const release = await adviceFor(folder, 'endless-release', [
    ...job('/bin/true', 'b.log'),
    'periodic_release = HoldReasonCode == 13',
    'queue',
  ]);
  const [, retries = '', waiting = ''] =
    /(max_retries = \d+) and (periodic_release = .*?) \(one stalled/.exec(
      (await lint(folder, [...job('/bin/true', 'c.log'), 'queue'])).map(({ message }) => message).join('\n'),
    ) ?? [];
  assert.match(waiting, / > 600$/);
  await writeFile(here.at('there.txt'), '');
  const lost = 'transfer_input_files = gone.txt';
  const items = 'transfer_input_files = $(file)\nqueue file from (\nthere.txt\ngone.txt\n)';
  const [, released, both, silent] = await Promise.all([
    here.submit('a', [...job('/bin/false', 'a.log'), restart, 'queue']),
    here.submit('b', [...job('/bin/true', 'b.log'), lost, release, 'queue']),
    // Ten minutes are too long for a test.
    here.submit('c', [...job('/bin/false', 'c.log'), retries, waiting.replace('600', '1'), items]),
    here.submit('d', [...job('/bin/true', 'd.log'), 'transfer_output_files = model.pt', 'queue']),
  ]);

  await Promise.all([
    here.ended('a.log'),
    here.held('b.log', 5),
    here.held('c.log', 5),
    here.held('d.log', 1),
  ]);
  await tool('condor_wait', '-wait', '240', 'c.log', `${both}.0`);
  assert.equal(here.attempts('a.log'), 4, restart);
  assert.equal(here.attempts('c.log'), 4, retries);
  for (const cluster of [released, both])
    assert.equal(await tool('condor_q', cluster, '-af', 'NumHolds', 'PeriodicRelease'), '5 false');

  const mail = await mailCommands(folder, 'b.log');
  assert.deepEqual(mail, [
    `condor_release ${released}.0`,
    `condor_q -hold ${released}.0`,
    `updraft why b.log ${released}.0`,
  ]);
  await writeFile(here.at('gone.txt'), '');
  assert.match(await tool('condor_q', '-hold', `${released}.0`), /gone\.txt/);
  await tool('condor_release', `${released}.0`);
  await here.ended('b.log');

  const [remove = ''] = await mailCommands(folder, 'd.log');
  assert.equal(remove, `condor_rm ${silent}.0`);
  await tool('condor_rm', `${silent}.0`);
  await here.ended('d.log');
});

/** The commands in the mail about the jobs of a log, in their order. */
async function mailCommands(folder: string, log: string): Promise<string[]> {
  const { out } = await runCommand(report, [log, '--mail'], { cwd: folder });
  return [...out.matchAll(/^ {4,}((?:condor_\w+|updraft) .*)$/gm)].map(([, command = '']) => command);
}

test('HTCondor refuses the values that are reported, and accepts those that are not', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const folder = await temporaryFolder(t);
  const values = [
    'YES',
    'IF_NEEDED',
    'MAYBE',
    'ON_EXIT',
    'ON_EXIST',
    'ON_SUCCESS',
    'NO',
    'START',
    'NEVER',
    'SOMETIMES',
    'ERROR',
  ];
  for (const command of ['should_transfer_files', 'when_to_transfer_output', 'notification'])
    for (const value of values) {
      const lines = ['executable = /bin/true', `${command} = ${value}`, 'success_exit_code = 0', 'queue'];
      const isReported = (await lint(folder, lines)).some(({ rule }) => rule === 'bad-value');
      assert.equal(isReported, condor.dryRun(folder, 'job.sub').status !== 0, `${command} = ${value}`);
    }
});

/** Submit lines within a piece of advice, which may go on in words. */
const linesIn = (advice: string): string[] =>
  [
    ...advice.matchAll(
      /(?<![\w$(`+"])(\+?[A-Za-z_]+ = .+?)(?=, (?![A-Z])| and [a-z]| or "|; | \([a-z]+ [A-Za-z]|$)/g,
    ),
  ].map(([, line = '']) => line);

test('HTCondor accepts every submit line that is advised', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const entries = await readdir(import.meta.dirname, { withFileTypes: true });
  const lines = new Set<string>();
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const file = path.join(import.meta.dirname, name, 'job.sub');
    if (!existsSync(file)) continue;
    const limits = submitLimits(condorProfiles.chtc);
    const now = new Date('2026-11-15T00:00:00Z');
    for (const { rule, fix, message } of lintSubmission(surveyOnDisk({ file, env: {}, now, limits })))
      for (const line of linesIn(rule === 'worth-adding' ? message : fix)) lines.add(line);
  }
  assert.ok(lines.size > 15, [...lines].join('\n'));
  const folder = await temporaryFolder(t, { 'train.sh': '#!/bin/sh\n' });
  // All at once where that goes well: each call takes a while.
  for (const some of [[...lines], ...[...lines].map((line) => [line])]) {
    const text = ['executable = train.sh', 'request_gpus = 1', ...some, 'queue', ''].join('\n');
    await writeFile(path.join(folder, 'job.sub'), text);
    const { status, said } = condor.dryRun(folder, 'job.sub');
    const isFine = status === 0 && !/unused/.test(said);
    if (isFine && some.length > 1) return;
    assert.ok(isFine || some.length > 1, `${some.join()}: ${said}`);
  }
});

const expressions = [
  'request_memory = 8 gigs',
  'request_memory = 8GiB',
  'request_memory = 8 G B',
  'request_memory = 1P',
  'request_memory = 8 GB # enough',
  'request_memory = 2*1024',
  'request_memory = 8 GB, 16 GB',
  'request_cpus = 4 cores',
  'request_gpus = 1 A100',
  'request_gpus = one',
  'requirements = (Memory = 5)',
  'requirements = Memory >',
  'requirements = {1,} == x',
  'requirements = 007 < Memory',
  `requirements = 'a b' == 1 && x is undefined`,
  'requirements = TARGET.a . b ?: c',
  'on_exit_remove = (ExitCode == 0',
  'periodic_hold_reason = no quotes',
  '+A = docker://image',
  '+A = a-b',
  String.raw`+A = "a\"`,
  '+A = 1.',
  '+A = 1 ? 2',
  '+A = f(a b)',
  '+A = f(a, {b}, [c = 1; d = 2].c)[0]',
  '+A = a /* b */ + c // d',
  'stream_output = yes',
  'stream_output = 1',
  'max_retries = T',
  'universe = vanila',
];

test('HTCondor refuses the expressions that are reported, and accepts those that are not', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const folder = await temporaryFolder(t);
  for (const line of expressions) {
    const findings = await lint(folder, ['executable = /bin/true', line, 'queue']);
    const isReported = findings.some(({ rule }) => /^bad-(value|expression)$/.test(rule));
    assert.equal(isReported, condor.dryRun(folder, 'job.sub').status !== 0, line);
  }
});
