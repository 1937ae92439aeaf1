import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as adopt from '../../src/cli/commands/adopt.ts';
import * as why from '../../src/cli/commands/why.ts';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { accessPoint, job } from './access-point.ts';
import { adviceFor, linesFor, linesIn, lintLines, withLines } from './advised-lines.ts';
import { realCondorSubmit } from './condor-submit.ts';
import { hangMs } from '../hang-limit.ts';

test('advised lines end jobs that never work, and the commands of `why` end their holds', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, tool } = here;
  const release = await adviceFor(folder, 'endless-release', [
    ...job('/bin/true', 'b.log'),
    'periodic_release = HoldReasonCode == 13',
    'queue',
  ]);
  const common = await linesFor(folder, 'worth-adding', [...job('/bin/true', 'c.log'), 'queue']);
  const [retries = '', waiting = ''] = common.slice(-2);
  assert.match(waiting, / > 600$/);
  await writeFile(here.at('there.txt'), '');
  const lost = 'transfer_input_files = gone.txt';
  const items = 'transfer_input_files = $(file)\nqueue file from (\nthere.txt\ngone.txt\n)';
  const [released, both, silent] = await Promise.all([
    here.submit('b', [...job('/bin/true', 'b.log'), lost, release, 'queue']),
    // Ten minutes are too long for a test.
    here.submit('c', [...job('/bin/false', 'c.log'), retries, waiting.replace('600', '1'), items]),
    here.submit('d', [...job('/bin/true', 'd.log'), 'transfer_output_files = model.pt', 'queue']),
  ]);

  await Promise.all([here.held('b.log', 5), here.held('c.log', 5), here.held('d.log', 1)]);
  await tool('condor_wait', '-wait', String(hangMs / 1000), 'c.log', `${both}.0`);
  assert.equal(here.attempts('c.log'), 4, retries);
  for (const cluster of [released, both])
    assert.equal(await tool('condor_q', cluster, '-af', 'NumHolds', 'PeriodicRelease'), '5 false');

  assert.equal(await advisedCommand(folder, 'b.log'), `condor_release ${released}.0`);
  await writeFile(here.at('gone.txt'), '');
  assert.match(await tool('condor_q', '-hold', `${released}.0`), /gone\.txt/);
  await tool('condor_release', `${released}.0`);
  await here.ended('b.log');

  assert.equal(await advisedCommand(folder, 'd.log'), `condor_rm ${silent}.0`);
  await tool('condor_rm', `${silent}.0`);
  await here.ended('d.log');
});

test('NumJobStarts does not end releases if the input does not arrive; the advised line does', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, tool } = here;
  const lost = 'transfer_input_files = gone.txt';
  const endless = 'periodic_release = NumJobStarts < 2';
  // An attribute of machines; the same condition with that of jobs.
  const never = 'periodic_release = HoldReasonCode == 13 && (CurrentTime - EnteredCurrentState > 1)';
  const [limit = ''] = await linesFor(folder, 'endless-release', [
    ...job('/bin/true', 'b.log'),
    endless,
    'queue',
  ]);
  const [named = ''] = await linesFor(folder, 'never-true', [...job('/bin/true', 'd.log'), never, 'queue']);
  const [wrong = '', right = '', odd = '', even = ''] = await Promise.all(
    Object.entries({ a: endless, b: limit, c: never, d: named }).map(([name, line]) =>
      here.submit(name, [...job('/bin/true', `${name}.log`), lost, line, 'queue']),
    ),
  );
  await Promise.all([
    here.held('a.log', 7),
    here.held('b.log', 5),
    here.held('c.log', 1),
    here.held('d.log', 5),
  ]);
  const said = (cluster: string, ...names: string[]): Promise<string> =>
    tool('condor_q', cluster, '-af', ...names);
  assert.match(await said(wrong, 'NumJobStarts'), /^(?:0|undefined)$/, 'no attempt counts as a start');
  assert.match(await said(wrong, 'NumShadowStarts >= 7', 'JobRunCount >= 7'), /^true true$/, 'but as these');
  assert.equal(await said(right, 'NumHolds', 'PeriodicRelease'), '5 false');
  assert.equal(await said(even, 'NumHolds', 'PeriodicRelease'), '5 false');
  assert.equal(await said(odd, 'NumHolds', 'PeriodicRelease'), '1 undefined', 'it is never released');
});

test('advised lines of a DAG keep the output of every node, and a FINAL node hides no failure', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, at, tool } = here;
  const same = [...job('/bin/echo', 'nodes.log'), 'arguments = $(JOB)', 'output = out.txt', 'queue'];
  const graph = ['JOB A same.sub', 'JOB B same.sub', 'JOB C fails.sub', 'FINAL F works.sub'];
  const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;
  await writeFile(at('same.sub'), lines(same));
  await writeFile(at('fails.sub'), lines([...job('/bin/false', 'nodes.log'), 'queue']));
  await writeFile(at('works.sub'), lines([...job('/bin/true', 'nodes.log'), 'queue']));
  await writeFile(at('check.sh'), '#!/bin/sh\n[ "$1" = 0 ]\n', { mode: 0o755 });
  await writeFile(at('wrong.dag'), lines(graph));
  const out: string[] = [];
  const keep = (text: string): void => void out.push(text);
  await runCommand(adopt, ['--json', 'wrong.dag'], { cwd: folder, env: {}, out: keep }).catch(
    () => undefined,
  );
  const { findings } = JSON.parse(out.join('')) as { findings: { rule: string; fix: string }[] };
  const fixOf = (rule: string): string => findings.find((one) => one.rule === rule)?.fix ?? '';
  const [output = ''] = linesIn(fixOf('dag-nodes-overwrite'));
  const [script = ''] = /SCRIPT POST F check\.sh \$DAG_STATUS/.exec(fixOf('dag-final-hides-failure')) ?? [];
  const [strict = ''] = /DAGMAN_USE_STRICT = 0/.exec(fixOf('dag-in-tmp')) ?? [];
  await writeFile(at('dag.config'), lines([strict]));
  await writeFile(at('wrong.dag'), lines(['CONFIG dag.config', ...graph]));
  await writeFile(at('own.sub'), lines(withLines(same, [output])));
  const right = ['CONFIG dag.config', ...graph.map((line) => line.replace('same', 'own')), script];
  await writeFile(at('right.dag'), lines(right));
  const run = async (dag: string): Promise<void> => {
    const [, cluster = ''] = /cluster (\d+)/.exec(await tool('condor_submit_dag', `${dag}.dag`)) ?? [];
    t.after(() => tool('condor_rm', cluster).catch(() => undefined));
    await here.ended(`${dag}.dag.dagman.log`);
  };
  await Promise.all(['wrong', 'right'].map(run));
  const status = async (dag: string): Promise<string | undefined> =>
    /return value (\d+)/.exec(await readFile(at(`${dag}.dag.dagman.log`), 'utf8'))?.[1];
  assert.equal(await status('wrong'), '0', 'DAGMan takes the failure for a success');
  assert.notEqual(await status('right'), '0');
  assert.equal(await readFile(at('out.A.txt'), 'utf8'), 'A\n');
  assert.equal(await readFile(at('out.B.txt'), 'utf8'), 'B\n');
});

/** The first command that `why` advises about the jobs of a log. */
async function advisedCommand(folder: string, log: string): Promise<string | undefined> {
  const { out } = await runCommand(why, [log, '--json'], { cwd: folder });
  return /condor_(?:release|rm) [\d.]*\d/.exec(out)?.[0];
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
    'AUTO',
    '"YES"',
    '"NEVER"',
    '"ON_EXIT"',
  ];
  for (const command of ['should_transfer_files', 'when_to_transfer_output', 'notification'])
    for (const value of values) {
      const lines = ['executable = /bin/true', `${command} = ${value}`, 'success_exit_code = 0', 'queue'];
      const isReported = (await lintLines(folder, lines)).some(({ rule }) => rule === 'bad-value');
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
  'request_memory = .5GB',
  'request_gpus = 1\ngpus_minimum_memory = 4,000',
  'request_disk = 4 GB.',
  'stream_output = yes # too',
  'max_retries = T',
  'universe = vanila',
  'universe = 5',
  'kill_sig = 10.5',
  'skip_filechecks = warn',
  'concurrency_limits = a, b.c:2',
  'concurrency_limits = a-b',
  'concurrency_limits = a # x',
  'accounting_group = group.me',
  'accounting_group = my group',
  'cuda_version = 12.1',
  'cuda_version = 12.1.0',
  'container_image = oras://a/b:1',
  'container_image = shub://a/b',
  'universe = container\ndocker_image = a:1',
  'universe = docker\ncontainer_image = docker://a:1',
  'x509userproxy = missing.pem',
  'request_cpus = 1\u00A0',
  'request_cpus\u00A0= 1',
  'description = run #5',
  'batch_name = run # 5',
  '$(none) = 5',
];

/** HTCondor evaluates the first two when it reads the file, and only parses the third. */
const literals = ['hold', 'max_retries', 'job_max_vacate_time'].flatMap((command) =>
  [
    ...['yes', 'true', '0', '"true"', 'foo bar', 'TRUE;', '(true)', 'true # x', 'x =?= undefined', 'x > 1'],
    ...['3', '"3"', '3;', '1,000', '5m', '0,1', '3 4', '(3', '-1', '1+2', 'int(3.2)', '{3}', 'undefined'],
  ].map((value) => `${command} = ${value}`),
);
const refusing = [
  ...['load_profile', 'want_io_proxy', 'want_graceful_removal', 'manifest', 'skip_if_dataflow', 'core_size'],
  ...['success_exit_code', 'priority', 'max_idle', 'next_job_start_delay', 'keep_claim_idle'],
  ...[
    'max_transfer_input_mb',
    'max_transfer_output_mb',
    'max_job_retirement_time',
    'concurrency_limits_expr',
  ],
].map((command) => `${command} = 5 m;`);

test('HTCondor refuses the expressions that are reported, and accepts those that are not', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const folder = await temporaryFolder(t);
  for (const line of [...expressions, ...literals, ...refusing]) {
    const findings = await lintLines(folder, ['executable = /bin/true', line, 'queue']);
    const isReported = findings.some(({ level }) => level === 'error');
    assert.equal(isReported, condor.dryRun(folder, 'job.sub').status !== 0, line);
  }
});
