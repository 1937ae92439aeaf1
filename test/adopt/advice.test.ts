import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Finding } from '../../src/base/finding.ts';
import { lintSubmission } from '../../src/adopt/lint.ts';
import { surveyOnDisk } from '../../src/adopt/disk-files.ts';
import { submitLimits } from '../../src/pool/submit-limits.ts';
import { condorProfiles } from '../../src/pool/condor/submit/profiles.ts';
import { logSources } from '../../src/eventlog/log-sources.ts';
import { readLogs } from '../../src/report/read-logs.ts';
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

/** Submits, waits until no job is left, and returns how many attempts there were. */
async function attemptsOf(t: TestContext, folder: string, lines: readonly string[]): Promise<number> {
  const pool = await testPool(t);
  assert.ok(pool !== undefined);
  const tool = (name: string, ...args: string[]) =>
    promisify(execFile)(path.join(pool.bin, name), args, { cwd: folder });
  await writeFile(path.join(folder, 'job.sub'), `${lines.join('\n')}\n`);
  const { stdout } = await tool('condor_submit', '-terse', 'job.sub');
  t.after(() => tool('condor_rm', stdout.split('.')[0] ?? '').catch(() => undefined));
  await tool('condor_wait', '-wait', '240', 'job.log');
  const { report } = await readLogs(await logSources([path.join(folder, 'job.log')]));
  return report.sites.reduce((sum, { attempts }) => sum + attempts, 0);
}

const failing = ['executable = /bin/false', 'transfer_executable = false', 'log = job.log'];

test('the advice for an endless `on_exit_remove` ends a job that always fails', async (t) => {
  if ((await testPool(t)) === undefined) return;
  const folder = await temporaryFolder(t);
  const rule = 'on_exit_remove = ExitCode == 0';
  const fix = await adviceFor(folder, 'endless-restart', [...failing, rule, 'queue']);
  assert.equal(await attemptsOf(t, folder, [...failing, fix, 'queue']), 4);
});

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
