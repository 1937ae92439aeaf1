import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Explanation } from '@updraft/account/why';
import type { LogReport } from '@updraft/account/report';
import * as adopt from '../commands/adopt.ts';
import * as report from '../commands/report.ts';
import * as why from '../commands/why.ts';

const fixture = path.join(import.meta.dirname, '../../../test/fixtures/dag');
/** A DAG with two inner ones, which have nodes of the same names: `tune/b` failed twice. */
const withInner = path.join(import.meta.dirname, '../../../test/fixtures/dag-inner');

/**
 * A DAG that a real DAGMan ran: `train_a` failed twice, `train_b` succeeded when it was tried again, the PRE script of
 * `inspect` and the POST script of `publish` failed, and DAGMan wrote a rescue file.
 */
async function flow(t: TestContext, without: readonly string[] = []): Promise<string> {
  const names = readdirSync(fixture).filter((name) => !without.includes(name));
  return temporaryFolder(
    t,
    Object.fromEntries(names.map((name) => [name, readFileSync(path.join(fixture, name), 'utf8')])),
  );
}

interface AdoptedDag {
  findings: { rule: string; level: string }[];
  rescue: { file: string; failed: string[]; rerun: string[]; done: string[] };
}

/** In a folder of tests, which is in /tmp, the DAG has an error. */
async function adopted(cwd: string, ...options: string[]): Promise<string> {
  let printed = '';
  const out = (text: string): void => void (printed += text);
  await assert.rejects(runCommand(adopt, ['flow.dag', ...options], { cwd, out }), /has errors/);
  return printed;
}

test('adopt says what the rescue file of a DAG would run again', async (t) => {
  const cwd = await flow(t);
  const { rescue, findings } = JSON.parse(await adopted(cwd, '--json')) as AdoptedDag;
  assert.deepEqual(rescue, {
    file: 'flow.dag.rescue001',
    failed: ['train_a', 'inspect', 'publish'],
    // As DAGMan then did.
    rerun: ['train_a', 'inspect', 'publish', 'merge', 'summary', 'notify'],
    done: ['fetch', 'train_b'],
  });
  assert.ok(findings.some(({ rule }) => rule === 'dag-final-hides-failure'));
  const text = await adopted(cwd);
  assert.match(text, /^flow\.dag: 8 nodes; /);
  assert.match(
    text,
    /condor_submit_dag would use flow\.dag\.rescue001 and run 6 of 8 nodes\n {2}failed before: train_a/,
  );
});

test('what the submit files of a DAG lack is one line', async (t) => {
  const submit = 'executable = /bin/true\nmax_retries = 2\ntransfer_output_files = a\n';
  const cwd = await temporaryFolder(t, {
    'flow.dag': 'JOB A a.sub\nJOB B b.sub\nJOB C b.sub\nVARS C request_memory="3 GB"\n',
    'a.sub': `${submit}request_memory = 1 GB\nqueue\n`,
    'b.sub': `${submit}request_disk = 1 GB\nqueue\n`,
  });
  const advice = (await adopted(cwd)).split('\n').filter((line) => line.startsWith('also worth adding'));
  assert.deepEqual(advice, [
    'also worth adding: `request_disk = 10 GB` and `request_memory = 4 GB` (the default is 128 MB of memory, and disk for the input)',
  ]);
});

test('report finds the logs of a DAG, and shows its nodes', async (t) => {
  const { out } = await runCommand(report, ['flow.dag', '--json'], { cwd: await flow(t) });
  const { dag, jobs, events } = JSON.parse(out) as LogReport;
  assert.deepEqual([jobs.total, jobs.success, jobs.failed], [5, 3, 2]);
  assert.ok(events > 0);
  assert.ok(dag !== null);
  assert.deepEqual(
    dag.criticalPath.map(({ node, waitSeconds, slotSeconds }) => [node, waitSeconds, slotSeconds]),
    [
      ['fetch', 3, 4],
      ['train_b', 17, 6],
      ['notify', 7, 1],
    ],
  );
  assert.deepEqual(dag.scripts, [
    { node: 'inspect', script: 'PRE', how: 'failed with status 4' },
    { node: 'publish', script: 'POST', how: 'failed with status 2' },
  ]);
  assert.deepEqual(dag.notSubmitted, [
    { why: 'its PRE script failed with status 4', isFailed: true, nodes: ['inspect'] },
    { why: 'it waits for train_a, which failed', isFailed: false, nodes: ['merge', 'summary'] },
  ]);
  assert.deepEqual(dag.retried, [
    { node: 'train_a', retries: 1 },
    { node: 'train_b', retries: 1 },
  ]);
  assert.deepEqual(dag.costs[0], {
    ...{ node: 'train_b', outcome: 'success', attempts: 2 },
    ...{ slotSeconds: 6, lostSeconds: 2 },
  });
});

test("without the nodes' own log, DAGMan's log gives the same nodes; without the DAG, only their cost", async (t) => {
  const cwd = await flow(t, ['flow.log']);
  const byDag = JSON.parse((await runCommand(report, ['flow.dag', '--json'], { cwd })).out) as LogReport;
  assert.deepEqual(
    byDag.dag?.criticalPath.map(({ node }) => node),
    ['fetch', 'train_b', 'notify'],
  );
  const byLog = JSON.parse(
    (await runCommand(report, ['flow.dag.nodes.log', '--json'], { cwd })).out,
  ) as LogReport;
  assert.deepEqual([byLog.dag?.costs.length, byLog.dag?.criticalPath], [5, []]);
  assert.equal(byLog.jobs.failed, 2, 'the POST script is in this log');
});

test('why explains a node, whether it has a job or not', async (t) => {
  const cwd = await flow(t);
  const explain = async (...words: string[]): Promise<Explanation[]> => {
    const { out } = await runCommand(why, ['flow.dag', ...words, '--json'], { cwd });
    return (JSON.parse(out) as { jobs: Explanation[] }).jobs;
  };
  const one = async (node: string): Promise<unknown> => {
    const [only, ...others] = await explain(node);
    assert.deepEqual(others, []);
    return [only?.standing, only?.cause, only?.because[0]];
  };
  assert.deepEqual(await one('inspect'), [
    'failed',
    'script-failed',
    'Its PRE script (`bad-pre.sh $JOB`) failed with status 4, so DAGMan did not submit its job.',
  ]);
  assert.deepEqual(await one('summary'), [
    'waiting',
    'node-blocked',
    'It was not submitted: it waits for train_a, which failed.',
  ]);
  assert.deepEqual(await one('train_a'), ['failed', 'exit-code', 'The program exited with code 3.']);
  assert.deepEqual(((await one('publish')) as unknown[]).slice(0, 2), ['failed', 'script-failed']);
  // The job before DAGMan tried the node again, and its cluster.
  for (const earlier of ['4.0', '4']) assert.deepEqual(await one(earlier), await one('train_a'));
  assert.equal((await explain()).length, 8);
  await assert.rejects(explain('trian_a'), { kind: 'usage', message: 'flow.dag has no node trian_a' });
});

test('report follows inner DAGs into their own logs, and does not count their DAGMans', async () => {
  const { out } = await runCommand(report, ['flow.dag', '--json'], { cwd: withInner });
  const { dag, jobs, attempts } = JSON.parse(out) as LogReport;
  assert.ok(dag !== null);
  assert.deepEqual([jobs.total, jobs.success, jobs.failed, attempts], [5, 4, 1, 6]);
  assert.deepEqual(dag.costs.map(({ node }) => node).sort(), [
    'eval/a',
    'eval/z',
    'fetch',
    'tune/a',
    'tune/b',
  ]);
  assert.deepEqual(
    dag.criticalPath.map(({ node }) => node),
    ['fetch', 'tune/a', 'tune/b'],
  );
  assert.deepEqual(dag.notSubmitted, [
    { why: 'it waits for tune, which failed', isFailed: false, nodes: ['merge'] },
  ]);
});

test('why explains the nodes of inner DAGs, and leads to them', async () => {
  const explain = async (...words: string[]): Promise<Explanation[]> => {
    const { out } = await runCommand(why, ['flow.dag', ...words, '--json'], { cwd: withInner });
    return (JSON.parse(out) as { jobs: Explanation[] }).jobs;
  };
  assert.deepEqual(
    (await explain('tune/b')).map(({ standing, because }) => [standing, because[0]]),
    [['failed', 'The program exited with code 3.']],
  );
  assert.deepEqual(
    (await explain('tune')).map(({ because, advice }) => [because, advice]),
    [[['Its inner DAG failed, because tune/b did.'], ['See why: updraft why flow.dag tune/b']]],
  );
  assert.equal((await explain()).length, 8);
});

test('where only .dagman.out is left, it says how the jobs ended', async (t) => {
  const cwd = await flow(t, ['flow.log', 'flow.dag.nodes.log']);
  const { out } = await runCommand(report, ['flow.dag', '--json'], { cwd });
  assert.deepEqual(
    (JSON.parse(out) as LogReport).dag?.notSubmitted.map(({ why: reason, nodes }) => [reason, nodes.length]),
    [
      ['its job completed successfully; its log was not found', 3],
      ['its job failed with status 3; its log was not found', 1],
      ['its PRE script failed with status 4', 1],
      ['its job completed successfully, but its POST script failed with status 2; its log was not found', 1],
      ['it waits for train_a, which failed', 2],
    ],
  );
});

test('every node is counted and explained: NOOP, DONE, and those of a splice by its name', async (t) => {
  const log =
    '000 (7.000.000) 2026-01-01 10:00:00 Job submitted from host: <192.0.2.1>\n    DAG Node: A\n...\n';
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB A a.sub\nJOB B a.sub NOOP\nJOB C a.sub DONE\nSPLICE X x.spl\nPARENT B CHILD X\n',
    'x.spl': 'JOB P a.sub\nJOB Q a.sub\n',
    'a.sub': 'executable = /bin/true\nlog = a.log\nqueue\n',
    'a.log': log,
  });
  const { out } = await runCommand(report, ['a.dag'], { cwd });
  assert.match(out, /nodes +5 \(1 waiting, 4 without a job\)\n +jobs +1 /);
  const explained = async (name: string) => {
    const { jobs } = JSON.parse((await runCommand(why, ['a.dag', name, '--json'], { cwd })).out) as {
      jobs: Explanation[];
    };
    return jobs.map(({ node, because }) => `${node}: ${because[0]}`);
  };
  assert.deepEqual(await explained('B'), ['B: It is a NOOP node, which has no job.']);
  assert.deepEqual(
    (await explained('X')).map((one) => one.slice(0, 4)),
    ['X+P:', 'X+Q:'],
  );
});

test('a file that is no DAG gives one clear message', async (t) => {
  const cwd = await temporaryFolder(t, { 'a.dag': 'one\ntwo\nthree\nfour\nfive\n' });
  for (const command of [report, why])
    await assert.rejects(runCommand(command, ['a.dag'], { cwd }), {
      kind: 'file-invalid',
      message: 'a.dag has no node: this is not a DAG: 5 of its lines are not DAG commands',
    });
});

test('a DAG whose nodes could not be submitted: why says the reason, and report does not deny its jobs', async (t) => {
  const said = (line: string): string => `08/20/26 19:09:39 ${line}\n`;
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB A a.sub\nJOB B b.sub\nPARENT A CHILD B\n',
    'a.dag.dagman.out': readFileSync(path.join(fixture, 'flow.dag.dagman.out'), 'utf8')
      .replaceAll('fetch', 'A')
      .concat(
        said('Submitting HTCondor Node B job(s)...'),
        said(
          "Event: ULOG_SUBMIT_FAILURE for HTCondor Node B (-1.-1.-1) {08/20/26 19:09:39} can't open file items.txt",
        ),
      ),
  });
  const explained = await runCommand(why, ['a.dag'], { cwd, columns: 200 });
  assert.match(explained.out, /why {2}B: DAGMan could not submit its job: .*can't open file items\.txt/);
  const reported = await runCommand(report, ['a.dag'], { cwd, columns: 200 });
  assert.match(reported.out, /its job completed successfully; its log was not found +A\n/);
  assert.doesNotMatch(reported.out, /no job has been submitted yet/);
});

const event = (number: string, job: string, second: number, text: string): string =>
  `${number} (${job}.000) 2026-04-13 18:00:${String(second).padStart(2, '0')} ${text}\n...\n`;

const submitted = (job: string, second: number, node: string): string =>
  event('000', job, second, `Job submitted from host: <192.0.2.1>\n    DAG Node: ${node}`);

const ran = (job: string, from: number, to: number, code: number): string =>
  event('001', job, from, 'Job executing on host: <192.0.2.9>') +
  event('005', job, to, `Job terminated.\n\t(1) Normal termination (return value ${code})`);

test('a node that queues several jobs is one node: they run side by side, and each has its number', async (t) => {
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB A a.sub\nJOB B b.sub\nJOB C c.sub\nPARENT A CHILD B\nPARENT B CHILD C\n',
    'a.dag.nodes.log': [
      ...[submitted('1.000', 0, 'A'), ran('1.000', 1, 5, 0)],
      ...['000', '001', '002'].map((proc) => submitted(`2.${proc}`, 8, 'B')),
      ...[ran('2.001', 10, 20, 7), ran('2.000', 10, 28, 0), ran('2.002', 10, 30, 0)],
    ].join(''),
  });
  const { out } = await runCommand(report, ['a.dag'], { cwd, columns: 120 });
  assert.match(out, /nodes +3 \(1 failed, 1 without a job\)\n +jobs +4 \(1 failed\)\n/);
  assert.match(out, /\n +A +1\.0s +4\.0s\n +B +5\.0s +20s\n/, 'the critical path takes the longest of B');
  assert.match(out, /node B 2\.1: exited with code 7/);
  assert.match(out, /1 +it waits for B, which failed +C\n/);
  const explained = await runCommand(why, ['a.dag'], { cwd, columns: 120 });
  assert.match(explained.out, /1 failed: .*\n +job B 2\.1\n/);
  assert.match(explained.out, /jobs A, B 2\.0, B 2\.2\n/);
  assert.match(explained.out, /C: It was not submitted: it waits for B, which failed\./);
  assert.match(explained.err, /why a\.dag 2\.1 +one job in full/);
  const one = await runCommand(why, ['a.dag', '2.1'], { cwd });
  assert.match(one.out, /^2\.1 \(B\) failed/);
  await assert.rejects(runCommand(why, ['a.dag', '2.9'], { cwd }), { kind: 'usage' });
});
