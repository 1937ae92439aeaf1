import assert from 'node:assert/strict';
import path from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Explanation } from '@updraft/account/why';
import { logSources } from '@updraft/htcondor/eventlog';
import * as why from '../commands/why.ts';
import { jobsToExplain } from '../commands/why.ts';

const event = (number: string, id: string, minute: number, rest: string): string =>
  `${number} (${id}.000) 2026-11-15 10:${String(minute).padStart(2, '0')}:00Z ${rest}\n...\n`;
const submit = (id: string, minute = 0, more = ''): string =>
  event('000', id, minute, `Job submitted from host: <192.0.2.1:9618?alias=ap>${more}`);
const held = (id: string, minute = 5): string =>
  event('012', id, minute, 'Job was held.\n\tvia condor_hold (by user alice)\n\tCode 1 Subcode 0');
const failed = (id: string, minute = 5): string =>
  event('001', id, minute, 'Job executing on host: <192.0.2.2:9618?alias=ep>') +
  event('005', id, minute + 1, 'Job terminated.\n\t(1) Normal termination (return value 3)');

const explain = async (words: string[], cwd: string, stdin?: Uint8Array): Promise<Explanation[]> => {
  const pipe = stdin && { stdin: (): AsyncIterable<Uint8Array> => ReadableStream.from([stdin]) };
  const { out } = await runCommand(why, [...words, '--json'], { cwd, ...pipe });
  return (JSON.parse(out) as { jobs: Explanation[] }).jobs;
};

test('jobs of several logs are named with their log', async (t) => {
  const cwd = await temporaryFolder(t, {
    'ada.log': submit('1.000') + held('1.000'),
    'bob.log': submit('2.000', 1) + held('2.000') + submit('3.000', 1) + failed('3.000'),
  });
  const jobs = await explain(['ada.log', 'bob.log'], cwd);
  assert.deepEqual(
    jobs.map(({ job, log, evidence }) => [job, log, evidence[0]?.file]),
    [
      ['1.0', 'ada.log', 'ada.log'],
      ['2.0', 'bob.log', 'bob.log'],
      ['3.0', 'bob.log', 'bob.log'],
    ],
  );
  const { out } = await runCommand(why, ['.'], { cwd });
  assert.match(out, /^2 held: .*\n {2}jobs ada\.log: 1\.0, bob\.log: 2\.0\n/);
  const { out: one } = await runCommand(why, ['ada.log', 'bob.log', '3.0'], { cwd });
  assert.match(one, /^3\.0 of bob\.log failed: /);
});

test('JSON is printed job by job, not as one text of all', async (t) => {
  const ids = ['1.000', '1.001', '2.000'];
  const log = ids.map((id) => submit(id) + held(id)).join('');
  const pieces: string[] = [];
  const out = (text: string): void => void pieces.push(text);
  await runCommand(why, ['a.log', '--json'], { cwd: await temporaryFolder(t, { 'a.log': log }), out });
  const { jobs } = JSON.parse(pieces.join('')) as { jobs: Explanation[] };
  assert.deepEqual(
    jobs.map(({ job }) => job),
    ['1.0', '1.1', '2.0'],
  );
  assert.ok(pieces.every((text) => text.split('"job":').length <= 2));
});

test('a log on stdin, compressed too, is explained like its file', async (t) => {
  const log = readFileSync(path.join(import.meta.dirname, '../../../test/eventlogs/hold404.log'));
  const cwd = await temporaryFolder(t, { 'my.log': log.toString() });
  const [expected] = await explain(['my.log'], cwd);
  for (const bytes of [log, gzipSync(log)]) {
    const [explained] = await explain(['-'], cwd, bytes);
    assert.deepEqual({ ...explained, evidence: [] }, { ...expected, evidence: [] });
    assert.equal(explained?.evidence[0]?.file, 'stdin');
  }
});

test('all clusters of a DAG node are one job, whichever of them is named', async (t) => {
  const node = (id: string, minute: number): string => submit(id, minute, '\n    DAG Node: fit');
  const cwd = await temporaryFolder(t, {
    'dag.log':
      node('1.000', 0) + failed('1.000') + submit('2.000', 6) + node('3.000', 8) + failed('3.000', 9),
  });
  const whole = await explain(['dag.log', 'fit'], cwd);
  assert.equal(whole.length, 1);
  assert.match(whole[0]?.because.join(' ') ?? '', /Attempt 1/);
  for (const word of ['1.0', '3.0', '3'])
    assert.deepEqual(await explain(['dag.log', word], cwd), whole, word);
  await assert.rejects(explain(['dag.log', 'fut'], cwd), /"fut" names no job and no DAG node in dag\.log/);
  await assert.rejects(explain(['dag.log', '9.0'], cwd), /there is no job 9\.0 in dag\.log/);
  await assert.rejects(explain(['dag.log', '1.0', '3.0'], cwd), /why takes one job, and "3\.0" is another/);
});

const ad = (attributes: Record<string, string | number>): string =>
  `${Object.entries({ EnteredCurrentStatus: 1_731_000_000, QDate: 1_730_980_000, ProcId: 0, ...attributes })
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    .join('\n')}\n\n`;
const held34 = {
  ...{ ClusterId: 812, JobStatus: 5, LastJobStatus: 2, HoldReasonCode: 34, HoldReasonSubCode: 0 },
  HoldReason:
    'Error from slot1_3@gpu4: Job has gone over cgroup memory limit of 4096 megabytes. Peak usage: 4000 megabytes.',
  ...{ LastRemoteHost: 'slot1_3@gpu4.example.org', NumHolds: 3, NumShadowStarts: 4, RequestMemory: 4096 },
  ...{ JobCurrentStartDate: 1_730_992_800, MemoryUsage: 3900, DAGNodeName: 'fit_3' },
};

test('the ads that condor_q -l and condor_history -l print are explained', async (t) => {
  const ads = [
    held34,
    { ClusterId: 813, JobStatus: 4, ExitCode: 3, LastRemoteHost: 'slot1@gpu5', NumShadowStarts: 1 },
    { ClusterId: 814, JobStatus: 1 },
    { ClusterId: 815, JobStatus: 3, LastJobStatus: 1, RemoveReason: 'via condor_rm (by user ada)' },
    { ClusterId: 816, JobStatus: 2, RemoteHost: 'slot1@gpu6', NumShadowStarts: 2 },
  ];
  const cwd = await temporaryFolder(t, { 'q.txt': ads.map(ad).join('') });
  const said = (await explain(['q.txt'], cwd)).map((one) => [
    one.job,
    one.standing,
    one.cause,
    one.because[0],
  ]);
  assert.deepEqual(said, [
    [
      '812.0',
      'held',
      'memory-exceeded',
      'It used more memory than requested: 4096 MB requested, 4000 MB at the last measurement.',
    ],
    ['813.0', 'failed', 'exit-code', 'The program exited with code 3.'],
    [
      '814.0',
      'waiting',
      'waits-for-slot',
      'No machine has matched it yet. The log does not say why, but the scheduler can.',
    ],
    ['815.0', 'removed', 'user', 'ada removed it with condor_rm.'],
    [
      '816.0',
      'running',
      'none',
      'Attempt 2 at gpu6 is running its program (last event in the log: 2024-11-07 17:20:00 UTC).',
    ],
  ]);
  const { out } = await runCommand(why, ['q.txt', 'fit_3'], { cwd });
  assert.match(out, /^812\.0 \(fit_3\) held: /);
  assert.match(out, /This happened in attempt 4 at gpu4\.example\.org, after 2 h 0 min\./);
  assert.match(out, /It has been held 3 times and released 2 times\./);
  // It may say neither what the job did before nor how often its shadow started.
  const few = { ClusterId: 817, JobStatus: 5, HoldReasonCode: 34, HoldReason: 'memory', NumJobStarts: 3 };
  const [terse] = await explain(['-'], cwd, Buffer.from(ad(few)));
  assert.equal(terse?.because[1], 'This happened in attempt 3.');
  const [byHand] = await explain(['-'], cwd, Buffer.from(ad({ ...few, HoldReasonCode: 1 })));
  assert.equal(byHand?.because[1], 'It was not running; 3 attempts had ended before.');
  const [piped] = await explain(['-', '813'], cwd, Buffer.from(ads.map(ad).join('')));
  const [named] = await explain(['q.txt', '813.0'], cwd);
  assert.deepEqual({ ...piped, evidence: [] }, { ...named, evidence: [] });
});

test('a pasted hold reason is explained, from an argument or stdin', async (t) => {
  const cwd = await temporaryFolder(t);
  const reason = held34.HoldReason;
  const { out } = await runCommand(why, ['--reason', reason], { cwd });
  assert.match(out, /held: it used more memory than requested\n/);
  const stdin = (): AsyncIterable<Uint8Array> => ReadableStream.from([Buffer.from(reason)]);
  assert.equal((await runCommand(why, ['--reason', '-'], { cwd, stdin })).out, out);
  assert.equal((await runCommand(why, ['-'], { cwd, stdin })).out, out, 'a text that is no log');
  const other = (): AsyncIterable<Uint8Array> => ReadableStream.from([Buffer.from('epoch 1\n')]);
  await assert.rejects(runCommand(why, ['-'], { cwd, stdin: other }), { fix: /updraft why --reason -/ });
  await assert.rejects(runCommand(why, ['--reason', ' '], { cwd }), /the hold reason is empty/);
  const events = [
    '000 (12.0.0) 2026-01-02 03:04:05 Job submitted',
    '005 (12.0.0) 2026-01-02 03:05:06 Job terminated.',
  ];
  const log = events.join('\n...\n');
  const piped = (): AsyncIterable<Uint8Array> => ReadableStream.from([Buffer.from(log)]);
  for (const [words, input] of [
    [log, stdin],
    ['-', piped],
  ] as const)
    await assert.rejects(
      runCommand(why, ['--reason', words], { cwd, stdin: input }),
      /a log of 2 events, and none of them is a hold/,
    );
  await assert.rejects(
    runCommand(why, ['x.log', '--reason', 'x'], { cwd }),
    /--reason takes no run and no log/,
  );
});

test('hold reasons of any number of jobs are explained, up to a limit', async (t) => {
  const row = (job: number): string =>
    ` ${String(job)}.0   ana   1/2  03:04 ${held34.HoldReason.replaceAll('\n', ' ')}\n`;
  const table = Array.from({ length: 1000 }, (_, job) => row(job + 1)).join('');
  assert.ok(table.length > 64 * 1024);
  const cwd = await temporaryFolder(t, { 'held.txt': table });
  const pieces = (text: string) => (): AsyncIterable<Uint8Array> =>
    ReadableStream.from(text.match(/[^]{1,50000}/g)?.map((piece) => Buffer.from(piece)) ?? []);
  const [first, ...others] = await explain(['-'], cwd, Buffer.from(table));
  assert.deepEqual([first?.job, others], ['1.0, 2.0, 3.0 and 997 more', []]);
  const { out } = await runCommand(why, ['-', '--json'], { cwd, stdin: pieces(table) });
  assert.deepEqual(JSON.parse(out), { jobs: [first] }, 'in pieces');
  assert.deepEqual(await explain(['held.txt'], cwd), [first], 'from a file');
  await assert.rejects(runCommand(why, ['-'], { cwd, stdin: pieces(row(1).repeat(100_000)) }), {
    message: 'stdin has more than 8 MiB of hold reasons',
    fix: /condor_q -hold CLUSTER/,
  });
});

test('a large log of many jobs is explained without the lines of its evidence', async (t) => {
  const cwd = await temporaryFolder(t, {
    'a.log': submit('1.000') + held('1.000') + submit('2.000') + held('2.000'),
  });
  const sources = (await logSources(['a.log'], { cwd })).map((source) => ({ ...source, size: 1e9 }));
  const { signal } = new AbortController();
  const lines = async (isQuoted: boolean): Promise<(string[] | undefined)[]> =>
    (await jobsToExplain(sources, undefined, { signal, isQuoted })).jobs.map(
      ({ details }) => details?.last.lines,
    );
  assert.deepEqual(await lines(false), [[], []]);
  assert.match((await lines(true))[0]?.join() ?? '', /held/);
});

test('a compressed log that is cut is refused, and what can be read of it is explained from stdin', async (t) => {
  const log = readFileSync(path.join(import.meta.dirname, '../../../test/eventlogs/hold404.log'));
  const cwd = await temporaryFolder(t, {});
  writeFileSync(path.join(cwd, 'cut.log.gz'), gzipSync(log).subarray(0, -12));
  await assert.rejects(runCommand(why, ['cut.log.gz'], { cwd }), {
    kind: 'file-invalid',
    message: 'cut.log.gz is cut or damaged',
    fix: 'read what can be decompressed of it: gzip -dc cut.log.gz | updraft report -',
  });
});

test('an ad of a completed job that counts no starts is not waiting', async (t) => {
  const cwd = await temporaryFolder(t, {
    'history.txt':
      'ClusterId = 9\nProcId = 0\nJobStatus = 4\nExitCode = 0\nExitBySignal = false\n\nClusterId = 9\nProcId = 1\nJobStatus = 4\nExitBySignal = true\nExitSignal = 9\n',
  });
  const jobs = await explain(['history.txt'], cwd);
  assert.deepEqual(
    jobs.map(({ job, standing }) => [job, standing]),
    [
      ['9.0', 'success'],
      ['9.1', 'failed'],
    ],
  );
});

test('a job of a node with several is explained alone, also by an earlier id', async (t) => {
  const ofNode = (id: string, minute: number): string => submit(id, minute, '\n    DAG Node: B');
  const cwd = await temporaryFolder(t, {
    'a.log':
      ofNode('12.000', 0) +
      ofNode('12.001', 0) +
      failed('12.000', 1) +
      failed('12.001', 1) +
      ofNode('13.000', 5) +
      ofNode('13.001', 5) +
      held('13.000', 6) +
      held('13.001', 6),
  });
  assert.equal((await explain(['a.log', 'B'], cwd)).length, 2);
  for (const word of ['12.1', '13.1'])
    assert.deepEqual(
      (await explain(['a.log', word], cwd)).map(({ job }) => job),
      ['13.1'],
    );
  const { out } = await runCommand(why, ['a.log', '13.1'], { cwd });
  assert.match(out, /^13\.1 \(B\) held: /);
});

test('tables and dumps of the queue that Updraft does not read are recognized, and the fix names those it reads', async (t) => {
  const cwd = await temporaryFolder(t, {
    'nobatch.txt':
      ' ID       OWNER  SUBMITTED     RUN_TIME ST PRI SIZE CMD\n12.0      ada    5/31 18:05  14+17:40:01 R  0   7.3  x.sh\n',
    'history.txt':
      ' ID     OWNER    SUBMITTED   RUN_TIME   ST   COMPLETED CMD\n51.0    ada     11/18 01:10   0+00:00:03 C  11/18 01:10 sh -c x\n',
    'q.json': '[\n{\n  "ClusterId": 51,\n  "ProcId": 0\n}\n]\n',
    'q.xml':
      '<?xml version="1.0"?>\n<classads>\n<c>\n    <a n="ClusterId"><i>51</i></a>\n</c>\n</classads>\n',
  });
  for (const file of ['nobatch.txt', 'history.txt', 'q.json', 'q.xml'])
    await assert.rejects(runCommand(why, [file], { cwd }), {
      message: `${file} has jobs as condor_q or condor_history prints them, and no events`,
      fix: /condor_q -l/,
    });
});

test('a job whose id two logs share is named as reports name it, its commands as HTCondor takes them', async (t) => {
  const log = (host: string, user: string): string =>
    `000 (1.000.000) 2026-01-01 10:00:00 Job submitted from host: <${host}>\n...\n` +
    `012 (1.000.000) 2026-01-01 10:00:01 Job was held.\n\tvia condor_hold (by user ${user})\n\tCode 1 Subcode 0\n...\n`;
  const cwd = await temporaryFolder(t, {
    'a.log': log('192.0.2.1', 'ada'),
    'b.log': log('192.0.2.2', 'bob'),
  });
  const { out } = await runCommand(why, ['a.log', 'b.log', '1.0#2'], { cwd });
  assert.match(
    out,
    /^1\.0#2 of b\.log held: .*by user bob.*condor_release 1\.0 \(or give it up: condor_rm 1\.0\)/s,
  );
  assert.doesNotMatch(out, /ada/);
});
