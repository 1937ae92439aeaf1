import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { osgLog } from '../../../scripts/osg-log.ts';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { logSources } from '@updraft/htcondor/eventlog';
import { Fault } from '@updraft/account/fault';
import { type GroupedReport, type JobTableRow, type LogReport, readLogs } from '@updraft/account/report';
import * as report from '../commands/report.ts';

const at = (seconds: number): string =>
  new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString().slice(0, 19).replace('T', ' ') + 'Z';
const submit = (seconds = 0, id = '001.000.000', host = 'ap') =>
  `000 (${id}) ${at(seconds)} Job submitted from host: <192.0.2.1:9618?alias=${host}>\n...\n`;
const execute = (seconds: number, id = '001.000.000') =>
  `001 (${id}) ${at(seconds)} Job executing on host: <192.0.2.2:9618?alias=ep>\n...\n`;
const terminate = (seconds: number, id = '001.000.000') =>
  `005 (${id}) ${at(seconds)} Job terminated.\n\t(1) Normal termination (return value 0)\n...\n`;
const hold = (seconds: number, reason: string) =>
  `012 (001.000.000) ${at(seconds)} Job was held.\n\t${reason}\n\tCode 26 Subcode 0\n...\n`;
const whole = submit() + execute(10) + terminate(110);

async function reportOn(
  t: TestContext,
  files: Record<string, string>,
  words: string[] = [],
): Promise<LogReport> {
  const cwd = await temporaryFolder(t, files);
  const { out } = await runCommand(report, [...Object.keys(files), ...words, '--json'], { cwd });
  return JSON.parse(out) as LogReport;
}

test('the report of an empty log says that there are no jobs', async (t) => {
  const { jobs, usefulShare, completion, notes } = await reportOn(t, { 'a.log': '' });
  assert.deepEqual([jobs.total, usefulShare, completion.meanSeconds], [0, null, null]);
  assert.match(notes.join(' '), /no events/);
});

test('a log with one submit event is one waiting job', async (t) => {
  const { jobs, slotTotalSeconds } = await reportOn(t, { 'a.log': submit() });
  assert.deepEqual([jobs.total, jobs.waiting, slotTotalSeconds], [1, 1, 0]);
});

test('a log cut within an event is reported up to there, and so is the cut', async (t) => {
  const { jobs, notes } = await reportOn(t, { 'a.log': whole.slice(0, -40) });
  assert.deepEqual([jobs.total, jobs.running], [1, 1]);
  assert.match(notes.join(' '), /1 incomplete event/);
});

test('two logs of the same job count its events once, in any order', async (t) => {
  const once = await reportOn(t, { 'a.log': whole });
  const twice = await reportOn(t, { 'a.log': whole, 'b.log': whole });
  assert.deepEqual([twice.jobs, twice.slotSeconds], [once.jobs, once.slotSeconds]);
  const rotated = await reportOn(t, { 'a.log': terminate(110), 'b.log': submit() + execute(10) });
  assert.deepEqual([rotated.jobs, rotated.slotSeconds], [once.jobs, once.slotSeconds]);
});

test('jobs with the same number from two pools, or from before a reset, are two jobs', async (t) => {
  const other = submit(5, '001.000.000', 'elsewhere') + execute(15) + terminate(65);
  const pools = await reportOn(t, { 'a.log': whole, 'b.log': other });
  assert.deepEqual([pools.jobs.total, pools.slotSeconds.usefulCompute], [2, 150]);
  const reset = await reportOn(t, { 'a.log': whole + submit(500) + execute(510) + terminate(520) });
  assert.deepEqual([reset.jobs.success, reset.slotSeconds.usefulCompute], [2, 110]);
  assert.deepEqual(
    reset.slowest.map(({ job }) => job),
    ['1.0', '1.0#2'],
  );
});

test('times that run backwards count as zero and are reported', async (t) => {
  const { slotSeconds, notes } = await reportOn(t, { 'a.log': submit(100) + execute(50) + terminate(150) });
  assert.deepEqual([slotSeconds.queued, slotSeconds.usefulCompute], [0, 50]);
  assert.match(notes.join(' '), /before the previous event/);
});

const hostile = `<script>alert(1)</script> "quoted" 'x' | **b** \u001b[31m \u{1F4A5} ${'long '.repeat(2000)}`;

test('hold reasons with markup, quotes, emoji, controls and 10 kB are shown as text everywhere', async (t) => {
  const cwd = await temporaryFolder(t, { 'a.log': submit() + hold(5, hostile) });
  const page = path.join(cwd, 'page.html');
  await runCommand(report, ['a.log', '--html', 'page.html'], { cwd });
  const html = await readFile(page, 'utf8');
  assert.ok(
    html.split('<script').length === 2 &&
      html.includes('&lt;script&gt;alert(1)') &&
      html.includes('\u{1F4A5}'),
  );
  assert.ok(html.length < 40_000);
  const { out: text } = await runCommand(report, ['a.log'], { cwd });
  const { out: markdown } = await runCommand(report, ['a.log', '--markdown'], { cwd });
  const { out: json } = await runCommand(report, ['a.log', '--json'], { cwd });
  assert.ok(!text.includes('\u001b') && text.split('\n').every((line) => Array.from(line).length <= 400));
  assert.ok(!markdown.includes('<script>') && !markdown.includes(' | **b**'));
  assert.ok((JSON.parse(json) as LogReport).failures[0]?.example?.reason.startsWith('<script>'));
});

test('of files that are no logs it is said what to use instead', async (t) => {
  const files = {
    'logs.zip': 'PK',
    'flow.dag.dagman.out': '11/16/26 09:12:00 Bootstrapping...\n',
    'flow.dag.rescue001': 'DONE A\n',
    'q.json': '[\n{ "ClusterId": 7, "ProcId": 0 }\n]\n',
    'out.txt': 'epoch 1\n',
  };
  const cwd = await temporaryFolder(t, files);
  for (const [name, fix] of [
    ['logs.zip', /unpack it first/],
    ['flow.dag.dagman.out', /use the DAG file, flow\.dag/],
    ['flow.dag.rescue001', /use the DAG file, flow\.dag/],
    ['q.json', /condor_q -l \| updraft why -, or condor_history -l/],
    ['out.txt', /use the event log/],
  ] as const)
    await assert.rejects(runCommand(report, [name], { cwd }), (fault) => {
      assert.ok(fault instanceof Fault);
      assert.match(fault.fix ?? '', fix);
      return true;
    });
});

test('a folder, a binary file and a missing file are refused by name', async (t) => {
  const cwd = await temporaryFolder(t, { 'sub/x': '', 'a.log': whole });
  await writeFile(
    path.join(cwd, 'binary'),
    Buffer.from(Array.from({ length: 9000 }, (_, index) => (index * 37) % 256)),
  );
  const refused = async (words: string[], says: RegExp) => {
    await assert.rejects(runCommand(report, words, { cwd }), (fault) => {
      assert.ok(fault instanceof Fault && says.test(fault.message), String(fault));
      return true;
    });
  };
  await refused(['sub'], /no file in the folder sub is an HTCondor event log/);
  await refused(['a.log', 'nowhere'], /no run "nowhere"/);
  await refused(['binary'], /no HTCondor event in .*binary/);
  await writeFile(path.join(cwd, 'wide.log'), whole, 'utf16le');
  await refused(['wide.log'], /no HTCondor event in wide\.log/);
  await writeFile(path.join(cwd, 'ads'), 'ClusterId = 12\nProcId = 0\nJobStatus = 5\n');
  await refused(['ads'], /ads has ads of jobs, as condor_q -l prints them/);
  await refused(['nowhere.log'], /no log or run nowhere\.log/);
  await refused(['a.log', '--html', 'no/such/folder.html'], /cannot be written/);
});

test('the HTML page has every chart, is reproducible, and fetches nothing', async (t) => {
  const cwd = await temporaryFolder(t, { 'osg.log': osgLog() });
  const pages = [];
  for (const name of ['1.html', '2.html']) {
    await runCommand(report, ['osg.log', '--html', name], { cwd });
    pages.push(await readFile(path.join(cwd, name), 'utf8'));
  }
  const [html = '', again] = pages;
  assert.equal(html, again);
  for (const title of [
    'Where the time on slots went',
    'Compute time per site',
    'Slot time lost',
    'Attempts over',
  ])
    assert.match(html, new RegExp(`<figcaption>${title}`));
  assert.equal(html.match(/role="img" aria-label="[^"]/g)?.length, html.match(/<figure/g)?.length);
  assert.doesNotMatch(html, /<script[^>]|<link|<img|@import|url\(|(?:src|href)="(?!#)/);
});

test("csv has a row per attempt whose seconds add up to the JSON's", async (t) => {
  const cwd = await temporaryFolder(t, { 'osg.log': osgLog() });
  const { out } = await runCommand(report, ['osg.log', '--csv'], { cwd });
  const [head = '', ...lines] = out.trimEnd().split('\n');
  const names = head.split(',');
  const { out: json } = await runCommand(report, ['osg.log', '--json'], { cwd });
  const { slotSeconds, attempts } = JSON.parse(json) as LogReport;
  assert.equal(lines.length, attempts);
  for (const [column, seconds] of Object.entries(slotSeconds)) {
    const sum = lines.reduce((all, line) => all + Number(line.split(',')[names.indexOf(column)]), 0);
    assert.equal(sum, seconds, column);
  }
});

test('every form has a row per job: by default for a few jobs, with --jobs for many', async (t) => {
  const cwd = await temporaryFolder(t, { 'few.log': whole, 'osg.log': osgLog() });
  const ask = async (...words: string[]) => (await runCommand(report, words, { cwd })).out;
  assert.match(
    await ask('few.log'),
    /Jobs \(times in seconds\)\n +job +outcome +valid +site +execute +slot busy/,
  );
  assert.doesNotMatch(await ask('osg.log'), /Jobs, times in seconds/);
  const row = /794570\.6 +success +yes +GP-ARGO-ksu-backfill \(\+1\) +24173 +25017 +22742 +841 +1 +0 +2 +4\n/;
  assert.match(await ask('osg.log', '--jobs'), row);
  assert.match(
    await ask('osg.log', '--markdown', '--jobs'),
    /\| 794569\.4 \| suspicious \| \? \| PDX-Coeus-CE1 \| 978 \|/,
  );
  const [head, first, ...more] = (await ask('osg.log', '--csv', '--jobs')).trimEnd().split('\n');
  assert.match(head ?? '', /^job,node,outcome,valid,sites,executeSeconds,slotBusySeconds,/);
  assert.equal(first, '794569.0,,success,true,CHTC-Spark-CE1,11182,13283,2100,2100,0,0,0,1,,,,,,,,,,11182');
  assert.equal(more.length, 99);
  const plain = JSON.parse(await ask('osg.log', '--json')) as LogReport & { jobRows?: JobTableRow[] };
  assert.equal(plain.jobRows, undefined);
  const { jobRows } = JSON.parse(await ask('osg.log', '--json', '--jobs')) as { jobRows: JobTableRow[] };
  assert.deepEqual([jobRows.length, jobRows[37]?.sites], [100, ['CHTC-Spark-CE1', 'GP-ARGO-ksu-backfill']]);
  await ask('osg.log', '--html', 'page.html');
  const page = await readFile(path.join(cwd, 'page.html'), 'utf8');
  assert.match(page, /<section id="jobs"[^]*<th scope="row">794570\.49<\/th>/);
});

test('a narrow report names the columns that it leaves out, and cuts no bar', async (t) => {
  const cwd = await temporaryFolder(t, { 'osg.log': osgLog() });
  const { out } = await runCommand(report, ['osg.log', '--jobs'], { cwd, outIsTerminal: true });
  assert.match(
    out,
    /including\s+everything\s+between\.\n  Not shown at this width: stalls, holds, evicted, tries\. To see all: a wider\s+terminal, or `\| less -S`\.\n/,
  );
  // Only the names of machines and sites are cut, from their ends.
  assert.doesNotMatch(out.replaceAll(/ (?:ep|CHTC|PDX|GP)-\S+…(?= +\d|…| \(\+1\))/g, ''), /…/);
  assert.ok(out.split('\n').every((line) => line.length <= 80));
});

test('--by shows groups in every form, and jobs of several logs are named with theirs', async (t) => {
  const failing = submit(0, '002.000.000') + execute(10, '002.000.000').replace('alias=ep', 'alias=bad');
  const cwd = await temporaryFolder(t, { 'a.log': whole, 'b.log': failing });
  const { out, err } = await runCommand(report, ['a.log', 'b.log', '--by', 'log'], { cwd });
  assert.match(out, /Lost time by log\n.*\n  a\.log +1 +1 +1 .*\n  b\.log +1 +1 +0 /);
  assert.match(out, /All: 2 jobs, 2 attempts, 1m40s on slots, 0\.0s lost\./);
  assert.equal(err, '');
  const { out: json } = await runCommand(report, ['a.log', 'b.log', '--by', 'machine', '--json'], { cwd });
  const { by, groups } = JSON.parse(json) as GroupedReport;
  assert.deepEqual([by, ...groups.map(({ name }) => name)], ['machine', 'ep', 'bad']);
  const { out: csv } = await runCommand(report, ['a.log', '--by', 'owner', '--csv'], { cwd });
  assert.match(csv, /^owner,jobs,attempts,success,.*\nunknown,1,1,1,100,1,0,,100,/);
  await runCommand(report, ['a.log', '--by', 'gpu', '--html', 'gpu.html'], { cwd });
  const page = await readFile(path.join(cwd, 'gpu.html'), 'utf8');
  assert.match(page, /<h1>Lost time by GPU model: a\.log<\/h1>/);
  assert.match(page, /does not name the GPU model of 1 attempt\./);
  const { out: both } = await runCommand(report, ['a.log', 'b.log', '--jobs'], { cwd });
  assert.match(both, /\n  a\.log 1\.0 +success .*\n  b\.log 2\.0 +running /);
  await assert.rejects(
    runCommand(report, ['a.log', '--by', 'moon'], { cwd }),
    /nothing to group by is called "moon"/,
  );
});

test('several runs and logs are one report, and groups of it', async (t) => {
  const cwd = path.join(import.meta.dirname, '../../../test/journals');
  const log = path.join(await temporaryFolder(t, { 'a.log': whole }), 'a.log');
  const words = ['retry-then-failure', 'stopped', log];
  const { jobs, logs } = JSON.parse(
    (await runCommand(report, [...words, '--json'], { cwd })).out,
  ) as LogReport;
  assert.deepEqual([jobs.total, logs], [5, words]);
  const { out } = await runCommand(report, [...words, '--by', 'run'], { cwd });
  assert.match(out, /Lost time by run\n(?:.*\n)*  retry-then-failure +2 /);
  assert.match(out, /What a valid result costs, by run\n/);
});

test('a run has the same report forms as a log', async () => {
  const cwd = path.join(import.meta.dirname, '../../../test/journals');
  const { out } = await runCommand(report, ['retry-then-failure', '--markdown'], { cwd });
  assert.match(out, /\| jobs \| 2 \(1 failed\) \|/);
  const { out: csv } = await runCommand(report, ['retry-then-failure', '--csv'], { cwd });
  assert.equal(csv.trimEnd().split('\n').length, 4);
});

test('events of no job are ignored, and that is said', async (t) => {
  const jobless = execute(5, '-01.-01.-01');
  const { jobs, notes, events } = await reportOn(t, { 'a.log': jobless + whole + jobless });
  assert.deepEqual([jobs.total, events], [1, 5]);
  assert.deepEqual(notes.slice(0, 1), ['Ignored 2 events of no job: their id is negative.']);
});

test('what cannot be a log is refused, a pipe with what to do instead', async (t) => {
  const cwd = await temporaryFolder(t, {});
  execFileSync('mkfifo', [path.join(cwd, 'pipe')]);
  await symlink('loop', path.join(cwd, 'loop'));
  await assert.rejects(runCommand(report, ['pipe'], { cwd }), {
    kind: 'file-invalid',
    message: /pipe is not a file/,
    fix: /COMMAND \| updraft report -/,
  });
  await assert.rejects(runCommand(report, ['/dev/zero'], { cwd }), /is not a file/);
  await assert.rejects(runCommand(report, ['loop'], { cwd }), /loop cannot be read: its symbolic links lead/);
});

test('compressed, in parts, in a folder, on stdin: a log is a log', async (t) => {
  const { jobs } = await reportOn(t, { 'a.log': whole });
  const cwd = await temporaryFolder(t, {
    'part.log': terminate(110),
    'part.log.1': execute(10),
    'part.log.2': submit(),
    'folder/events': whole,
    'folder/events.out': 'What the job printed.',
    'folder/.hidden.log': submit(0, '9.0.0'),
  });
  await writeFile(path.join(cwd, 'packed'), gzipSync(whole));
  await writeFile(path.join(cwd, 'folder', 'twice.gz'), gzipSync(whole));
  const jobsOf = async (...words: string[]): Promise<LogReport> => {
    const stdin = (): AsyncIterable<Uint8Array> => ReadableStream.from([gzipSync(whole)]);
    const { out } = await runCommand(report, [...words, '--json'], { cwd, stdin });
    return JSON.parse(out) as LogReport;
  };
  for (const words of [
    ['packed'],
    ['part.log', 'part.log.1', 'part.log.2'],
    ['folder'],
    ['-'],
    ['folder', '-', 'packed'],
  ])
    assert.deepEqual((await jobsOf(...words)).jobs, jobs, words.join(' '));
  assert.deepEqual((await jobsOf('folder')).logs, ['folder/events', 'folder/twice.gz']);
});

test('a log of a folder of which nothing can be decompressed is named', async (t) => {
  const cwd = await temporaryFolder(t, { 'folder/events': whole });
  const damaged = Buffer.concat([gzipSync(whole).subarray(0, 20), Buffer.alloc(99, 7)]);
  await mkdir(path.join(cwd, 'other'));
  for (const name of ['folder/bad.log.gz', 'other/bad.log.gz'])
    await writeFile(path.join(cwd, name), damaged);
  const { out } = await runCommand(report, ['folder', '--json'], { cwd });
  const { jobs, notes } = JSON.parse(out) as LogReport;
  assert.equal(jobs.total, 1);
  assert.match(notes.join(), /Left out 1 file that cannot be read: folder\/bad\.log\.gz/);
  await assert.rejects(runCommand(report, ['other'], { cwd }), /other\/bad\.log\.gz is cut or damaged/);
});

test('files of a folder that cannot be opened are counted and named', async (t) => {
  const forbidden = ['folder/a.log', 'folder/b.log'];
  const cwd = await temporaryFolder(t, {
    'folder/events': whole,
    ...Object.fromEntries(forbidden.map((name) => [name, whole])),
  });
  await chmod(cwd, 0o755);
  for (const name of forbidden) await chmod(path.join(cwd, name), 0);
  // Root may read everything.
  if (process.getuid?.() === 0) process.seteuid?.(65534);
  const sources = await logSources(['folder'], { cwd }).finally(() => {
    if (process.getuid?.() === 0) process.seteuid?.(0);
  });
  const { jobs, notes } = (await readLogs(sources)).report;
  assert.equal(jobs.total, 1);
  assert.deepEqual(
    notes.filter((note) => note.startsWith('Left out')),
    ['Left out 2 files that cannot be read: folder/a.log, folder/b.log.'],
  );
});

test('the first screen says when, how many, what was lost and what helps most', async (t) => {
  const cwd = await temporaryFolder(t, { 'osg.log': osgLog() });
  const { out } = await runCommand(report, ['osg.log'], { cwd, columns: 80, outIsTerminal: true });
  const [verdict = '', picture = '', summary = ''] = out.split('\n\n');
  assert.match(verdict, /^82 % of the loss has one cause: the transfer stalled \(226 attempts\)/);
  assert.match(picture, /^756\.4 h on slots\n +[^ ]{74}\n.*useful compute 43\.9 %/);
  assert.match(summary, /when +2024-06-10 to 2024-06-13, 2d16h, /);
  assert.match(summary, /lost +49\.6 % of it, 375\.5 h\n +main cause of the loss +the transfer stalled/);
  for (const line of out.split('\n')) assert.ok(line.length <= 80, line);
});

const node = (cluster: number, seconds: number, name: string) =>
  `000 (${cluster}.000.000) ${at(seconds)} Job submitted from host: <192.0.2.1>\n    DAG Node: ${name}\n...\n`;
const removed = (cluster: number, seconds: number) =>
  `009 (${cluster}.000.000) ${at(seconds)} Job was aborted.\n\tvia condor_rm (by user alice)\n...\n`;
const dag = [
  ...[node(1, 0, 'train-0'), execute(10, '1.000.000'), removed(1, 510)],
  ...[node(2, 600, 'train-0'), execute(610, '2.000.000'), terminate(710, '2.000.000')],
].join('');

test("a DAG's nodes are its jobs, by name in every form, and a log without transfers says so", async (t) => {
  const cwd = await temporaryFolder(t, { 'a.nodes.log': dag });
  const ask = async (...words: string[]) =>
    (await runCommand(report, ['a.nodes.log', ...words], { cwd })).out;
  const text = await ask();
  assert.match(text, /nodes +1\n +success +1 \(100\.0 %\)\n +attempts +2\n/);
  assert.match(text, /no transfer events/);
  assert.match(
    text,
    /ep +1 +2 +1 +8m20s +16\.7 % +user +10m00s +1m40s +-/,
    'transfer time is unknown, not 0',
  );
  assert.match(await ask('--all'), /Slowest successful jobs\n.*\n +train-0 /);
  const rows = (await ask('--csv')).split('\n');
  assert.deepEqual(
    rows.slice(0, 3).map((row) => row.split(',').slice(0, 7).join()),
    [
      'job,node,owner,outcome,attempt,id,ending',
      '2.0,train-0,,success,1,1.0,removed',
      '2.0,train-0,,success,2,2.0,success',
    ],
  );
  const json = JSON.parse(await ask('--json')) as LogReport;
  assert.deepEqual([json.nodes, json.largestLosses[0]?.node], [true, 'train-0']);
});

test("dates follow the log's clock and zone, and a guessed year is marked as guessed", async (t) => {
  const late = whole.replaceAll('Z ', '-06:00 ').replaceAll(' 00:0', ' 23:0');
  const cwd = await temporaryFolder(t, { 'a.log': late });
  const { out } = await runCommand(report, ['a.log'], { cwd });
  assert.match(out, /when +2026-01-01, 1m50s, UTC-06:00\n/);
  const yearless = await temporaryFolder(t, {
    'a.log': whole.replaceAll(/2026-(\d\d)-(\d\d) (\S+)Z/g, '$1/$2 $3'),
  });
  const guessed = await runCommand(report, ['a.log'], { cwd: yearless });
  assert.match(guessed.out, /when +\d{4}-01-01 \(year guessed\)/);
  assert.match(guessed.out, /dates have no year: Updraft guessed it/);
});

test('--valid and --invalid decide which results count', async (t) => {
  const cwd = await temporaryFolder(t, { 'a.log': osgLog(), list: '794569.4\n794569.6\n' });
  const ask = async (...words: string[]) => {
    const { out } = await runCommand(report, ['a.log', '--json', ...words], { cwd });
    const { success, suspicious, 'wrong-output': wrongOutput } = (JSON.parse(out) as LogReport).jobs;
    return [success, suspicious, wrongOutput];
  };
  assert.deepEqual(await ask(), [79, 3, 0]);
  assert.deepEqual(await ask('--valid', 'bytes>1M'), [79, 0, 3]);
  assert.deepEqual(await ask('--valid', 'seconds>0'), [82, 0, 0]);
  assert.deepEqual(await ask('--invalid', '794569.4,794569.6,794569.14'), [79, 0, 3]);
  assert.deepEqual(await ask('--invalid', 'list'), [79, 1, 2]);
  await assert.rejects(
    runCommand(report, ['a.log', '--valid', 'size>3'], { cwd }),
    /"size>3" is not a comparison/,
  );
  const journals = path.join(import.meta.dirname, '../../../test/journals');
  const run = runCommand(report, ['retry-then-failure', '--invalid', '0000'], { cwd: journals });
  await assert.rejects(run, /Updraft checks the results/);
});

test('resource rows without a requested amount are left out', async (t) => {
  const table = [
    '\tPartitionable Resources :    Usage  Request Allocated Assigned',
    '\t   Cpus                 :     0.50        1         1 ',
    '\t   Gpus (Average)       :     0.02        1         1 "GPU-5dec0905"',
    '\t   GpusMemory (MB)      :    12345                    ',
    '\t   IoHeavy              :        0        5         5 ',
  ].join('\n');
  const { resources } = await reportOn(t, { 'a.log': whole.replace('value 0)\n', `value 0)\n${table}\n`) });
  assert.deepEqual(
    resources.map(({ name, advice }) => [name, advice]),
    [['Cpus', 'fits']],
  );
});
