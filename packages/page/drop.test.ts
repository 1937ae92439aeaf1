import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readDrop, unreadFiles } from './drop.ts';
import { sortFiles } from './dropped-logs.ts';
import { lintDropped, lintDroppedDag, mainFiles } from './dropped-submit.ts';
import type { PoolLimits } from '@updraft/htcondor/submit';
import type { Document as Page } from '@updraft/view/document';

const limits: PoolLimits = {
  title: 'HTCondor',
  inputBytes: 1e9,
  adviseBytes: 1e9,
  wantsProject: false,
  durationCategories: [],
  gpuAttributes: {},
  commands: [],
};

type Dropped = Record<string, string | Uint8Array<ArrayBuffer>>;

/** What the page says of files that are dropped together; of folders, also of empty ones. */
async function dropped(contents: Dropped, folders: string[] | 'in part' = []) {
  const files = Object.entries(contents).map(([name, content]) => ({
    name,
    blob: new Blob([content]),
    writtenAt: 0,
  }));
  const sorted = await sortFiles(files);
  const { logs, ads, dags, submits, packed, others } = sorted;
  const drop = await readDrop(
    [...dags, ...submits, ...others],
    [...logs, ...ads, ...packed],
    folders === 'in part' ? undefined : folders,
  );
  const { mains, alone } = mainFiles(sorted, drop);
  const adopted = [
    ...mains.map(({ name }) => lintDroppedDag(name, drop, new Date(0), limits)),
    ...alone.map(({ name }) => lintDropped(name, drop, new Date(0), limits)),
  ];
  return { adopted, unread: unreadFiles(sorted, drop) };
}

/** The headline of a page, the sentences below it, and the rules of what was found. */
function partsOf([first, ...blocks]: Page) {
  const end = blocks.findIndex((block) => block === '');
  return {
    headline: typeof first === 'object' && 'title' in first ? first.title : '',
    notes: end < 0 ? blocks : blocks.slice(0, end),
    rules: blocks.flatMap((block) => (typeof block === 'object' && 'rule' in block ? [block.rule] : [])),
  };
}
const headlines = ({ adopted }: { adopted: Page[] }): string[] =>
  adopted.map((page) => partsOf(page).headline);
const rules = ({ adopted }: { adopted: Page[] }): string[] => adopted.flatMap((page) => partsOf(page).rules);
const notes = ({ adopted: [page = []] }: { adopted: Page[] }) => partsOf(page).notes;

const submit = [
  'executable = run.sh',
  'transfer_input_files = data.csv',
  'transfer_output_files = model.pt',
  'transfer_output_remaps = "model.pt=$(Process).pt"',
  'log = logs/a.log',
  'request_memory = 4 GB',
  'request_disk = 4 GB',
  'queue',
].join('\n');
const script = '#!/bin/bash\nset -e\npython3 train.py\n';
const log = '000 (12.000.000) 2026-01-02 03:04:05 Job submitted from host: <192.0.2.1:9618>\n...\n';

test('of a DAG alone, nothing is found in files that were not dropped, and they are named once', async () => {
  const dag = [
    'JOB A jobs/sleep.sub',
    'JOB B jobs/sleep.sub',
    'VARS A seconds="1"',
    'SPLICE S inner.dag',
    'PARENT A CHILD B S',
    'RETRY S+X 3',
    'SCRIPT PRE B pre.sh',
  ].join('\n');
  const found = await dropped({ 'flow.dag': dag });
  assert.deepEqual(headlines(found), ['flow.dag: 2 nodes; 0 errors, 0 warnings, 0 notes']);
  assert.deepEqual(rules(found), []);
  assert.deepEqual(notes(found), ['Not checked, because not dropped: inner.dag, jobs/sleep.sub, pre.sh.']);
});

test('what is not in a dropped folder is missing; of files that were dropped by themselves it is unknown', async () => {
  const files = { 'p/job.sub': submit, 'p/run.sh': script };
  const whole = await dropped(files, ['p', 'p/results']);
  assert.deepEqual(rules(whole), ['input-missing', 'folder-missing']);
  assert.deepEqual(notes(whole), []);
  assert.deepEqual(rules(await dropped(files, ['p', 'p/logs'])), ['input-missing']);
  // A dialog names no empty folder.
  assert.deepEqual(rules(await dropped(files)), ['input-missing']);
  for (const unsure of [
    await dropped({ ...files, 'p/x': '' }, 'in part'),
    await dropped({ 'job.sub': submit, 'run.sh': script }),
  ]) {
    assert.deepEqual(rules(unsure), []);
    assert.deepEqual(notes(unsure), ['Not checked, because not dropped: data.csv, logs.']);
  }
});

test('a submit file in a folder below the one it is submitted from finds its files', async () => {
  const files = { 'p/sub/job.sub': submit, 'p/run.sh': script, 'p/data.csv': '1', 'p/logs/.keep': '' };
  const found = await dropped(files, ['p', 'p/sub', 'p/logs']);
  assert.deepEqual(rules(found), ['other-folder']);
});

test('the files that match a pattern are counted, in a folder or by themselves', async () => {
  const text = submit.replace('queue', 'queue f matching *.txt');
  const files = { 'run.sh': script, 'data.csv': '1' };
  const all = { 'job.sub': text, ...files, 'a.txt': '', 'b.txt': '' };
  assert.match(headlines(await dropped(all)).join(), /^job\.sub: 2 jobs/);
  const inFolder = Object.fromEntries(Object.entries(all).map(([name, one]) => [`p/${name}`, one]));
  assert.match(headlines(await dropped(inFolder)).join(), /^job\.sub: 2 jobs/);
  assert.match(headlines(await dropped({ 'job.sub': text, ...files })).join(), /^job\.sub: at least 1 job/);
  const none = await dropped({ 'p/job.sub': text, 'p/run.sh': script }, ['p']);
  assert.match(headlines(none).join(), /^job\.sub: 0 jobs/);
});

test('beside a DAG, a submit file that it does not name is checked too, and a README hides nothing', async () => {
  const files = {
    'p/README.md': 'Job submission\n',
    'p/setup.py': 'x = 1\nqueue = []\n',
    'p/flow.dag': 'JOB A a.sub\n',
    'p/a.sub': submit,
    'p/other.sub': submit,
  };
  assert.deepEqual(
    headlines(await dropped(files)).map((one) => one.split(':')[0]),
    ['flow.dag', 'other.sub'],
  );
});

test('what a rescue file would run again is said', async () => {
  const files = { 'f.dag': 'JOB A a.sub\nJOB B a.sub\n', 'a.sub': submit, 'f.dag.rescue001': 'DONE A\n' };
  const found = await dropped(files);
  assert.deepEqual(notes(found).slice(1), [
    'condor_submit_dag would use f.dag.rescue001 and run 1 of 2 nodes',
    '  not done: B',
    '  done, not run again: A',
  ]);
  assert.deepEqual(found.unread.names, []);
});

test('compressed submit files and DAGs are to be unpacked', async () => {
  const { adopted, unread } = await dropped({
    'job.sub.gz': gzipSync(submit),
    'flow.dag.gz': gzipSync('JOB A a.sub\n'),
  });
  assert.deepEqual(adopted, []);
  assert.deepEqual(unread, { packed: ['job.sub.gz', 'flow.dag.gz'], names: [] });
});

test('what was not read is named, and packed logs apart', async () => {
  const xz = Uint8Array.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]);
  const { unread } = await dropped({
    'a.log': log,
    'job.sub': submit.replace('queue', 'queue f from list'),
    'run.sh': script,
    list: 'a\nb\n',
    'doc.pdf': '%PDF',
    'b.log.xz': xz,
    'results.zip': 'PK',
    'p/data.csv.xz': xz,
    'p/c.log.xz': xz,
  });
  assert.deepEqual(unread.packed, ['b.log.xz', 'results.zip', 'p/c.log.xz']);
  assert.deepEqual(unread.names, ['doc.pdf', 'p/data.csv.xz']);
});
