import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Explanation } from '@updraft/account/why';
import type { LogReport } from '@updraft/account/report';
import * as report from '../commands/report.ts';
import * as why from '../commands/why.ts';

const time = (second: number): string =>
  `18:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}`;

const event = (number: string, job: string, second: number, text: string): string =>
  `${number} (${job}.000) 2026-04-13 ${time(second)} ${text}\n...\n`;

const submitted = (cluster: number, second: number, node: string): string =>
  event('000', `${cluster}.000`, second, `Job submitted from host: <192.0.2.1>\n    DAG Node: ${node}`);

const ran = (cluster: number, from: number, to: number, code: number): string =>
  event('001', `${cluster}.000`, from, 'Job executing on host: <192.0.2.9>') +
  event('005', `${cluster}.000`, to, `Job terminated.\n\t(1) Normal termination (return value ${code})`);

const post = (cluster: number, second: number, node: string, code: number): string =>
  event(
    '016',
    `${cluster}.000`,
    second,
    `POST Script terminated.\n\t(1) Normal termination (return value ${code})\n    DAG Node: ${node}`,
  );

/** `.dagman.out` of one run: what DAGMan says between its start and its end. */
const dagmanOut = (...lines: string[]): string =>
  ['** condor_dagman (CONDOR_DAGMAN) STARTING UP', 'Parsing 1 dagfiles', ...lines]
    .map((line) => `04/13/26 18:00:00 ${line}\n`)
    .join('');

const exited = (status: number): string =>
  `**** condor_dagman (condor_DAGMAN) pid 9 EXITING WITH STATUS ${status}`;

/** What DAGMan says of a node's job. */
const said = (node: string, cluster: number, how: string): string[] => [
  `Event: ULOG_SUBMIT for HTCondor Node ${node} (${cluster}.0.0) {04/13/26 18:00:00}`,
  `Node ${node} job proc (${cluster}.0.0) ${how}.`,
];

const aSub = 'executable = /bin/true\nlog = all.log\nqueue\n';

async function reported(cwd: string, file: string, ...options: string[]): Promise<LogReport> {
  return JSON.parse((await runCommand(report, [file, '--json', ...options], { cwd })).out) as LogReport;
}

async function explained(cwd: string, ...words: string[]): Promise<Explanation[]> {
  const { out } = await runCommand(why, [...words, '--json'], { cwd });
  return (JSON.parse(out) as { jobs: Explanation[] }).jobs;
}

const standings = (jobs: readonly Explanation[]): Record<string, string> =>
  Object.fromEntries(jobs.map(({ node = '', standing }) => [node, standing]));

test('the result of a POST script is that of its node', async (t) => {
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB A a.sub\nJOB B a.sub\nSCRIPT POST A ok.sh\nPARENT A CHILD B\n',
    'a.dag.nodes.log':
      submitted(1, 0, 'A') + ran(1, 2, 4, 1) + post(1, 5, 'A', 0) + submitted(2, 6, 'B') + ran(2, 7, 9, 0),
  });
  assert.deepEqual(standings(await explained(cwd, 'a.dag')), { A: 'success', B: 'success' });
  const [rescued] = await explained(cwd, 'a.dag', 'A');
  assert.deepEqual(rescued?.because, [
    'The program exited with code 1.',
    'But its POST script succeeded: the node is done.',
  ]);
  const { jobs, slotSeconds } = await reported(cwd, 'a.dag');
  assert.deepEqual([jobs.success, jobs.failed, slotSeconds.usefulCompute], [2, 0, 4]);
});

/** A failed, but its POST script did not; then the DAG was run again with its rescue file, which truncates `.nodes.log`. */
const rescuedBefore = {
  'a.dag': 'JOB A a.sub\nJOB B a.sub\nJOB C a.sub\nSCRIPT POST A ok.sh\nPARENT A B CHILD C\n',
  'a.sub': aSub,
  'all.log': submitted(1, 0, 'A') + ran(1, 2, 4, 1) + submitted(2, 0, 'B') + ran(2, 2, 5, 3),
  'a.dag.rescue001': 'DONE A\n',
  'a.dag.nodes.log': submitted(3, 60, 'B') + ran(3, 62, 65, 3),
};
const firstRun = dagmanOut(
  ...said('A', 1, 'failed with status 1'),
  ...said('B', 2, 'failed with status 3'),
  exited(1),
);
const secondRun = dagmanOut(
  'USING RESCUE DAG a.dag.rescue001',
  ...said('B', 3, 'failed with status 3'),
  exited(1),
);

test('a node that a rescue file marks as DONE is done, and the jobs of the runs before count', async (t) => {
  const cwd = await temporaryFolder(t, { ...rescuedBefore, 'a.dag.dagman.out': firstRun + secondRun });
  const all = await explained(cwd, 'a.dag');
  assert.deepEqual(standings(all), { A: 'success', B: 'failed', C: 'waiting' });
  assert.match(all.find(({ node }) => node === 'C')?.because[0] ?? '', /it waits for B, which failed/);
  const { jobs, attempts } = await reported(cwd, 'a.dag');
  assert.deepEqual([jobs.total, attempts], [2, 3]);
});

test('without .dagman.out, only the jobs of .nodes.log count, and what a rescue file marks is done', async (t) => {
  const cwd = await temporaryFolder(t, rescuedBefore);
  assert.deepEqual(standings(await explained(cwd, 'a.dag')), { A: 'success', B: 'failed', C: 'waiting' });
  const { jobs, attempts } = await reported(cwd, 'a.dag');
  assert.deepEqual([jobs.total, attempts], [1, 1]);
});

test('of a log that DAGs share, and of earlier runs, only what DAGMan names belongs to a DAG', async (t) => {
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB A a.sub\nJOB B a.sub\nPARENT A CHILD B\n',
    'b.dag': 'JOB A a.sub\nJOB other a.sub\n',
    'c.dag': 'JOB A a.sub\n',
    'a.sub': aSub,
    'all.log':
      submitted(1, 0, 'A') +
      ran(1, 2, 4, 0) +
      submitted(2, 10, 'A') +
      ran(2, 12, 14, 7) +
      submitted(3, 20, 'other') +
      ran(3, 21, 22, 0) +
      submitted(4, 30, 'A') +
      ran(4, 32, 34, 0),
    // With -force, the second run starts over.
    'a.dag.dagman.out':
      dagmanOut(...said('A', 1, 'completed successfully'), exited(1)) +
      dagmanOut(...said('A', 4, 'completed successfully')),
    'b.dag.dagman.out': dagmanOut(
      ...said('A', 2, 'failed with status 7'),
      ...said('other', 3, 'completed successfully'),
    ),
    'c.dag.dagman.out': dagmanOut(
      'ERROR: Unknown child node sp specified',
      'Processing error at c.dag:5',
      exited(1),
    ),
  });
  const ids = async (file: string) => (await explained(cwd, file)).map(({ job }) => job);
  assert.deepEqual(await ids('a.dag'), ['4.0', 'B']);
  assert.deepEqual(await ids('b.dag'), ['2.0', '3.0']);
  assert.deepEqual(await ids('c.dag'), ['A']);
  const { jobs, dag } = await reported(cwd, 'a.dag');
  assert.deepEqual([jobs.total, dag?.criticalPath[0]?.waitSeconds], [1, 2], 'since the second run');
});

test('a node whose POST script failed is tried again: one node, two attempts', async (t) => {
  const [first, second] = [submitted(1, 0, 'P') + ran(1, 2, 4, 0), submitted(2, 10, 'P') + ran(2, 12, 14, 0)];
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB P a.sub\nSCRIPT POST P bad.sh\nRETRY P 1\n',
    'a.sub': aSub,
    'all.log': first + second,
    'a.dag.nodes.log': first + post(1, 5, 'P', 3) + second + post(2, 15, 'P', 3),
  });
  const { jobs, attempts, dag } = await reported(cwd, 'a.dag');
  assert.deepEqual([jobs.total, jobs.failed, attempts, dag?.costs[0]?.attempts], [1, 1, 2, 2]);
});

test('where only .dagman.out is left, it says that a job was held, why, and what came of it', async (t) => {
  const held = [
    'Event: ULOG_SUBMIT for HTCondor Node A (1.0.0) {04/13/26 18:00:00}',
    'Event: ULOG_JOB_HELD for HTCondor Node A (1.0.0) {04/13/26 18:00:01}',
    '  Hold reason: Transfer output files failure at execution point slot1@ep while sending files to access point ap. Details: reading from file /execute/dir_7/model.pt: (errno 2) No such file or directory',
  ];
  const removed = 'Event: ULOG_JOB_ABORTED for HTCondor Node A (1.0.0) {04/13/26 18:00:02}';
  const of = async (...lines: string[]): Promise<Explanation | undefined> => {
    const cwd = await temporaryFolder(t, {
      'a.dag': 'JOB A a.sub\n',
      'a.dag.dagman.out': dagmanOut(...lines),
    });
    return (await explained(cwd, 'a.dag', 'A'))[0];
  };
  const now = await of(...held);
  assert.deepEqual([now?.standing, now?.cause], ['held', 'output-missing']);
  assert.match(now?.because.join(' ') ?? '', /^Its job was held; .*without writing model\.pt/);
  assert.match(now?.evidence[0]?.lines[0] ?? '', /^Transfer output files failure/);
  const gone = await of(...held, removed);
  assert.deepEqual([gone?.standing, gone?.cause], ['removed', 'output-missing']);
  assert.match(gone?.because[0] ?? '', /^Its job was held and then removed; /);
  const failed = await of(...held, removed, 'POST Script of node A failed with status 1');
  assert.deepEqual([failed?.standing, failed?.cause], ['failed', 'output-missing']);
  assert.match(failed?.because[0] ?? '', /removed, and its POST script failed with status 1/);
  const released = 'Event: ULOG_JOB_RELEASED for HTCondor Node A (1.0.0) {04/13/26 18:00:02}';
  assert.equal((await of(...held, released))?.standing, 'waiting');
  const rescued = await of(...held, removed, 'POST Script of node A completed successfully.');
  assert.deepEqual([rescued?.standing, rescued?.cause], ['success', 'none']);
});

const withoutRescue = 'DAGMan wrote no rescue file: condor_submit_dag -force runs all nodes again.';

/** What `why` prints first, and its advice about the first node that did not run. */
async function ended(t: TestContext, out: string, more: Record<string, string> = {}): Promise<string[]> {
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB A a.sub\nJOB B a.sub\nPARENT A CHILD B\n',
    'a.dag.dagman.out': out,
    ...more,
  });
  const printed = await runCommand(why, ['a.dag'], { cwd, columns: 200 });
  const { dag } = await reported(cwd, 'a.dag');
  const [first = '', , ...rest] = printed.out.split('\n');
  if (dag?.ends.length === 1) assert.equal(first, `DAGMan ${dag.ends[0]}.`);
  return [first, rest.find((line) => line.includes('fix')) ?? ''];
}

test("how DAGMan itself ended comes first, where the nodes' own failures do not show it", async (t) => {
  assert.deepEqual(
    await ended(
      t,
      dagmanOut(
        'ERROR: Node sp not found!',
        'ERROR: Unknown child node sp specified',
        'Processing error at a.dag:5',
        exited(1),
      ),
    ),
    [
      'DAGMan refused the DAG: Unknown child node sp specified (a.dag:5).',
      '  fix  Correct a.dag:5, then submit the DAG again: condor_submit_dag -force.',
    ],
  );
  assert.deepEqual(
    await ended(
      t,
      dagmanOut('DAG status: 6 (DAG_STATUS_HALTED)', 'Writing Rescue DAG to a.dag.rescue001...', exited(1)),
    ),
    [
      'DAGMan was halted: there was a .halt file beside the DAG.',
      '  fix  Once that is fixed, run condor_submit_dag again: its rescue file runs only what is left.',
    ],
  );
  const dagmanLog =
    event('000', '9.000', 0, 'Job submitted from host: <192.0.2.1>') +
    event('001', '9.000', 1, 'Job executing on host: <192.0.2.1>') +
    event('012', '9.000', 2, 'Job was held.\n\tvia condor_hold (by user ada)\n\tCode 1 Subcode 0');
  assert.deepEqual(await ended(t, dagmanOut(exited(3)), { 'a.dag.dagman.log': dagmanLog }), [
    'DAGMan is held: via condor_hold (by user ada).',
    '  fix  To continue: condor_release 9.0',
  ]);
  const [refused] = await ended(t, dagmanOut('Processing error at a.dag:3', exited(1)));
  assert.equal(refused, 'DAGMan refused the DAG (a.dag:3).');
  const refusal = dagmanLog.replace('via condor_hold (by user ada)', 'The job was refused.');
  const [stop] = await ended(t, dagmanOut(exited(3)), { 'a.dag.dagman.log': refusal });
  assert.equal(stop, 'DAGMan is held: The job was refused.');
  const [first] = await ended(t, dagmanOut(...said('A', 1, 'failed with status 2'), exited(1)));
  assert.match(first ?? '', /^1 failed: /, 'a failed node is why it exited');
});

test('a node of which .dagman.out says only how it ended has no reason of HTCondor', async (t) => {
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB A a.sub\nJOB B a.sub\nJOB C a.sub\n',
    'a.dag.dagman.out': dagmanOut(
      ...said('A', 1, 'failed with status 7'),
      'Event: ULOG_SUBMIT for HTCondor Node B (2.0.0) {04/13/26 18:00:00}',
      'Event: ULOG_JOB_ABORTED for HTCondor Node B (2.0.0) {04/13/26 18:00:00}',
    ),
  });
  const jobs = await explained(cwd, 'a.dag');
  assert.deepEqual(
    jobs.map(({ node, standing, title, because }) => [node, standing, title, because[0]]),
    [
      ['A', 'failed', silent, 'Its job failed with status 7; its log was not found.'],
      ['B', 'removed', silent, 'Its job was removed; its log was not found.'],
      ['C', 'waiting', 'DAGMan did not submit it', 'It was not submitted: DAGMan has not reached it yet.'],
    ],
  );
});

const silent = 'DAGMan’s .dagman.out does not say why';

test('ABORT-DAG-ON: which node caused it, what was removed with the DAG, and how to run the rest', async (t) => {
  const removal =
    'Job was aborted.\n\tremoved because <OtherJobRemoveRequirements = DAGManJobId =?= 9> fired when job (9.0) was removed';
  const cwd = await temporaryFolder(t, {
    'a.dag': 'JOB B a.sub\nJOB C a.sub\nJOB D a.sub\nABORT-DAG-ON B 3 RETURN 0\nPARENT B CHILD D\n',
    'a.dag.nodes.log':
      submitted(1, 0, 'B') +
      submitted(2, 0, 'C') +
      ran(1, 1, 4, 3) +
      event('001', '2.000', 5, 'Job executing on host: <192.0.2.9>') +
      event('009', '2.000', 6, removal),
    'a.dag.dagman.out': dagmanOut(
      ...said('B', 1, 'failed with status 3'),
      'Aborting DAG because we got the ABORT exit value from a job',
      'DAG status: 0 (DAG_STATUS_OK)',
      exited(0),
    ),
  });
  const { out } = await runCommand(why, ['a.dag'], { cwd, columns: 200 });
  assert.match(out, /^DAGMan aborted the DAG, because B failed with status 3 \(ABORT-DAG-ON\)\.\n/);
  const [c] = await explained(cwd, 'a.dag', 'C');
  assert.deepEqual(
    [c?.standing, c?.title, c?.advice],
    ['removed', 'it was removed with its DAG', [withoutRescue]],
  );
  assert.match(c?.because[0] ?? '', /^DAGMan aborted the DAG, because B failed/);
  const [d] = await explained(cwd, 'a.dag', 'D');
  assert.deepEqual(d?.advice, ['See why: updraft why a.dag B', withoutRescue]);
});

test('a node waits for one that was removed, which did not fail; commands name the DAG as it was named', async (t) => {
  const cwd = await temporaryFolder(t, {
    'sub/a.dag': 'JOB C a.sub\nJOB D a.sub\nPARENT C CHILD D\n',
    'sub/a.dag.nodes.log':
      submitted(2, 0, 'C') + event('009', '2.000', 6, 'Job was aborted.\n\tvia condor_rm (by user ada)'),
  });
  const [d] = await explained(cwd, 'sub/a.dag', 'D');
  assert.deepEqual(d?.because, ['It was not submitted: it waits for C, which was removed.']);
  assert.equal(d.advice[0], 'See why: updraft why sub/a.dag C');
});

test('DAGMan ends a SERVICE node: that is no loss, and nothing waited for it', async (t) => {
  const cwd = await temporaryFolder(t, {
    'a.dag': 'SERVICE S a.sub\nJOB A a.sub\nFINAL F a.sub\n',
    'a.dag.nodes.log': [
      submitted(1, 0, 'S'),
      submitted(2, 1, 'A'),
      event('001', '1.000', 2, 'Job executing on host: <192.0.2.9>'),
      ran(2, 3, 10, 0),
      submitted(3, 20, 'F'),
      event('009', '1.000', 21, 'Job was aborted.\n\tDAG is exiting (by user ada)'),
      ran(3, 22, 25, 0),
    ].join(''),
  });
  const { jobs, dag, verdict } = await reported(cwd, 'a.dag');
  assert.deepEqual([jobs.success, jobs.removed, verdict], [3, 0, null]);
  assert.deepEqual(
    dag?.criticalPath.map(({ node }) => node),
    ['A', 'F'],
  );
  const [service] = await explained(cwd, 'a.dag', 'S');
  assert.deepEqual(
    [service?.standing, service?.because],
    ['success', ['It is a SERVICE node: DAGMan ended it with the DAG.']],
  );
});

test('a node that PRE_SKIP ends and a NOOP node are done, and have no job', async (t) => {
  const none = '000.2147483647';
  const cwd = await temporaryFolder(t, {
    'a.dag':
      'JOB A a.sub\nJOB B a.sub NOOP\nJOB C a.sub\nSCRIPT PRE A skip.sh\nPRE_SKIP A 7\nPARENT A B CHILD C\n',
    'a.dag.nodes.log':
      event('034', none, 0, 'PRE script return value is PRE_SKIP value\n    DAG Node: A') +
      event('000', none, 1, 'Job submitted from host: <dummy-submit-for-noop-job>\n    DAG Node: B') +
      event('005', none, 1, 'Job terminated.\n\t(1) Normal termination (return value 0)') +
      submitted(1, 2, 'C'),
    'a.dag.dagman.out': dagmanOut(
      'PRE Script of Node A failed with status 7',
      'PRE_SKIP return value 7 indicates we are done (successfully) with node A',
      ...said('B', 0, 'completed successfully').map((line) => line.replace('(0.0.', '(0.2147483647.')),
      'Event: ULOG_SUBMIT for HTCondor Node C (1.0.0) {04/13/26 18:00:02}',
    ),
  });
  assert.deepEqual(standings(await explained(cwd, 'a.dag')), {
    C: 'waiting',
    A: 'success',
    B: 'success',
  });
  const { jobs, dag } = await reported(cwd, 'a.dag');
  assert.deepEqual([jobs.total, dag?.scripts], [1, []]);
  assert.deepEqual(dag?.notSubmitted, [
    { why: 'its PRE script ended it as done (PRE_SKIP)', isFailed: false, nodes: ['A'] },
    { why: 'it is a NOOP node, which has no job', isFailed: false, nodes: ['B'] },
  ]);
});

test('of several DAG files that DAGMan ran together, the first has its own nodes', async (t) => {
  const cwd = await temporaryFolder(t, {
    'one.dag': 'JOB A a.sub\nJOB B a.sub\n',
    'two.dag': 'JOB A a.sub\n',
    'one.dag.nodes.log':
      submitted(1, 0, '0.A') +
      ran(1, 2, 4, 0) +
      submitted(2, 0, '1.A') +
      ran(2, 2, 4, 5) +
      submitted(3, 5, '0.B'),
    'one.dag.dagman.out': dagmanOut(
      'Parsing 2 dagfiles',
      ...said('0.A', 1, 'completed successfully'),
      ...said('1.A', 2, 'failed with status 5'),
      'PRE Script of node 1.A failed with status 5',
    ),
  });
  assert.deepEqual(standings(await explained(cwd, 'one.dag')), { A: 'success', B: 'waiting' });
  const { jobs, dag } = await reported(cwd, 'one.dag');
  assert.deepEqual([jobs.total, jobs.failed, dag?.nodes, dag?.scripts], [2, 0, 2, []]);
});

test('what DAGMan writes beside a DAG leads to the DAG', async (t) => {
  const cwd = await temporaryFolder(t, { 'a.dag': 'JOB A a.sub\n', 'a.dag.dagman.out': dagmanOut() });
  for (const command of [why, report])
    await assert.rejects(runCommand(command, ['a.dag.dagman.out'], { cwd }), {
      fix: 'use the DAG file, a.dag: what DAGMan wrote beside it is read too',
    });
});
