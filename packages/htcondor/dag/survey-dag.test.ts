import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubmitFiles } from '../submit/submit-files.ts';
import type { Finding } from '@updraft/base';
import type { DagFacts } from './dag-rules.ts';
import { lintDag, shownDag, surveyDag } from './survey-dag.ts';

const limits = {
  title: 'a pool',
  inputBytes: 1e9,
  adviseBytes: 1e9,
  wantsProject: false,
  durationCategories: [],
  gpuAttributes: {},
  commands: [],
};

function filesOf(texts: Record<string, string>): SubmitFiles {
  return {
    read: (name) => texts[name],
    stat: (name) => {
      const text = texts[name];
      if (text !== undefined)
        return { kind: 'file', bytes: text.length, isExecutable: !text.startsWith('#!plain') };
      const isFolder = name === '.' || Object.keys(texts).some((file) => file.startsWith(`${name}/`));
      return { kind: isFolder || name === '/bin/true' ? 'folder' : 'missing', bytes: 0 };
    },
    list: () => [],
  };
}

function survey(texts: Record<string, string>, folder = '/home/user'): DagFacts {
  return surveyDag({
    file: 'a.dag',
    text: texts['a.dag'] ?? '',
    folder,
    files: filesOf(texts),
    env: {},
    now: new Date(0),
    limits,
  });
}

const all = (texts: Record<string, string>, folder?: string): Finding[] => lintDag(survey(texts, folder));
const rules = (findings: readonly Finding[]): string[] =>
  findings.map(({ level, rule, file, line }) => `${level} ${rule} ${file ?? ''}:${line ?? 0}`);
const dagRules = (texts: Record<string, string>, folder?: string): string[] =>
  rules(all(texts, folder).filter(({ rule }) => rule.startsWith('dag-')));

/** Without findings of its own. */
const quiet = [
  'executable = run.sh',
  'transfer_output_files = model.pt',
  'transfer_output_remaps = "model.pt=$(JOB).pt"',
  'max_retries = 2',
  'output = $(JOB).out',
  'error = $(JOB).err',
  'log = a.log',
  'request_memory = 1G',
  'request_disk = 1G',
  'request_cpus = 1',
  'periodic_release = NumHolds < 3 && HoldReasonCode == 12',
];
const script = '#!/bin/sh\nexec true\n';
const submit = (...lines: string[]): string => [...quiet, ...lines, 'queue'].join('\n');

test('a correct DAG has no finding of its own', () => {
  const texts = {
    'a.dag':
      'JOB A a.sub\nJOB B a.sub\nPARENT A CHILD B\nSCRIPT PRE B run.sh $JOB\nCATEGORY B few\nMAXJOBS few 2',
    'a.sub': submit(),
    'run.sh': script,
  };
  assert.deepEqual(dagRules(texts), []);
});

test('files, folders and scripts that are not there are errors; what a parent may write is a note', () => {
  const texts = {
    'a.dag': [
      'JOB A none.sub',
      'JOB B later.sub',
      'JOB C a.sub DIR nowhere',
      'SUBDAG EXTERNAL D inner.dag',
      'PARENT A CHILD B',
      'SCRIPT PRE B true',
      'SCRIPT POST B plain.sh',
      'SCRIPT PRE A text.sh',
      'CONFIG none.config',
    ].join('\n'),
    'a.sub': submit(),
    'plain.sh': '#!plain',
    'text.sh': 'echo',
  };
  assert.deepEqual(dagRules(texts), [
    'error dag-file-missing a.dag:3',
    'error dag-file-missing a.dag:4',
    'error dag-file-missing a.dag:9',
    'error dag-script-missing a.dag:8',
    'error dag-script-missing a.dag:6',
    'error dag-script-missing a.dag:7',
    'note dag-file-later a.dag:1',
    'note dag-file-later a.dag:2',
  ]);
});

test('what only a parent writes that is done is an error for a node that runs again', () => {
  const texts = {
    'a.dag': 'JOB A a.sub\nJOB B b.sub\nJOB C later.sub\nPARENT A CHILD B\nPARENT B CHILD C',
    'a.sub': submit(),
    'b.sub': [...quiet, 'queue item from items.txt'].join('\n'),
    'run.sh': script,
  };
  const ofList = (more: Record<string, string>): Finding | undefined =>
    all({ ...texts, ...more }).find(({ rule }) => rule === 'no-item-list');
  assert.equal(ofList({})?.level, 'note');
  const again = { 'a.dag.rescue001': 'DONE A\n' };
  assert.equal(ofList(again)?.level, 'error');
  assert.match(ofList(again)?.fix ?? '', /delete that node's DONE in a\.dag\.rescue001/);
  assert.equal(ofList({ 'a.dag.rescue001': 'DONE A\nDONE B\n' })?.level, 'note', 'B does not run again');
  assert.ok(dagRules({ ...texts, ...again }).includes('note dag-file-later a.dag:3'), 'B runs before C');
});

test('a cycle, a folder in /tmp and a FINAL node that hides failures are found', () => {
  const texts = {
    'a.dag': 'JOB A a.sub\nJOB B a.sub\nPARENT A CHILD B\nPARENT B CHILD A\nFINAL F a.sub',
    'a.sub': submit(),
    'run.sh': script,
  };
  assert.deepEqual(dagRules(texts, '/tmp/flow'), [
    'error dag-cycle a.dag:1',
    'error dag-in-tmp a.dag:1',
    'warning dag-final-hides-failure a.dag:5',
  ]);
});

test('the fix for /tmp is seen, and a description in the DAG needs no queue statement', () => {
  const inline = 'SUBMIT-DESCRIPTION one {\nexecutable = run.sh\nlog = a.log\n}\nJOB A one\n';
  const texts = { 'a.dag': `CONFIG c.cfg\n${inline}`, 'run.sh': script };
  const rules = (config: string): string[] => dagRules({ ...texts, 'c.cfg': config }, '/tmp/flow');
  const kinds = (found: string[]): string[] => found.filter((one) => /in-tmp|no-queue/.test(one));
  assert.deepEqual(kinds(rules('DAGMAN_USE_STRICT = 1\n')), ['error dag-in-tmp a.dag:1']);
  assert.deepEqual(kinds(rules('A = b\nDAGMAN_USE_STRICT = 0\n')), []);
});

test('the submit file is read with the VARS of each node, and the same finding is said once', () => {
  const texts = {
    'a.dag': [
      'JOB A a.sub',
      'JOB B a.sub',
      'JOB C a.sub',
      'JOB D a.sub',
      'VARS A data="a.txt" size="1"',
      'VARS B data="b.txt" size="1"',
      'VARS C size="1"',
      'VARS D data="d.txt" size="2"',
    ].join('\n'),
    'a.sub': submit('transfer_input_files = $(data)', 'size = 5', 'arguments = $(size)'),
    'run.sh': script,
    'a.txt': 'x',
  };
  const findings = all(texts);
  const inputs = findings.filter(({ rule }) => rule === 'input-missing');
  assert.deepEqual(
    inputs.map(({ message }) => /b\.txt.*(\(B; 1 other node likewise\))$/.exec(message)?.[1]),
    ['(B; 1 other node likewise)'],
  );
  assert.deepEqual(
    findings
      .filter(({ rule }) => rule === 'undefined-macro')
      .map(({ file, line, message }) => [file, line, message.slice(-4)]),
    [['a.sub', 12, ' (C)']],
  );
  assert.deepEqual(
    findings.filter(({ rule }) => rule === 'dag-vars-overridden').map(({ message }) => message),
    ['VARS of A set `size`, but line 13 of a.sub sets it again: VARS have no effect'],
  );
});

test('VARS that the submit file does not use are found where they are written', () => {
  const texts = { 'a.dag': 'JOB A a.sub\nVARS A dta="x"', 'a.sub': submit(), 'run.sh': script };
  assert.deepEqual(rules(all(texts).filter(({ rule }) => rule === 'unused-name')), [
    'warning unused-name a.dag:2',
  ]);
});

test('an inline description is checked at its own lines', () => {
  const texts = { 'a.dag': `JOB A {\n${submit('arguments = $(none)')}\n}\n`, 'run.sh': script };
  assert.deepEqual(rules(all(texts).filter(({ rule }) => rule === 'undefined-macro')), [
    'warning undefined-macro a.dag:13',
  ]);
});

test('nodes that write to the same file are found; names with $(JOB) are not', () => {
  const texts = {
    'a.dag': 'JOB A a.sub\nJOB B a.sub\nVARS A n="1"\nVARS B n="2"',
    'a.sub': submit('output = out.$(x:1).txt', 'error = $(n).err', 'arguments = $(n)'),
    'run.sh': script,
  };
  assert.deepEqual(
    all(texts)
      .filter(({ rule }) => rule === 'dag-nodes-overwrite')
      .map(({ message }) => message),
    ["A and 1 other node write `output` to out.1.txt: only the last one's output is kept"],
  );
});

test('the newest rescue file decides what runs again', () => {
  const texts = {
    'a.dag': 'JOB A a.sub\nJOB B a.sub\nJOB C a.sub\nPARENT A CHILD B\nFINAL F a.sub',
    'a.sub': submit('arguments = $(DAG_STATUS)'),
    'run.sh': script,
    'a.dag.rescue001': 'DONE A\nDONE B\n',
    'a.dag.rescue002': '# Nodes that failed: 1\n#   B,<ENDLIST>\nDONE A\nDONE Gone\n',
  };
  const [rescue] = survey(texts).rescues;
  assert.deepEqual(
    [
      rescue?.file,
      rescue?.failed,
      rescue?.rerun.map(({ name }) => name),
      rescue?.done.map(({ name }) => name),
    ],
    ['a.dag.rescue002', ['B'], ['B', 'C', 'F'], ['A']],
  );
  assert.deepEqual(dagRules(texts), ['error dag-rescue-stale a.dag.rescue002:4']);
});

test('a PRE script or a parent may write the list of items; for other nodes its absence is an error', () => {
  const list = submit().replace(/queue.*$/s, 'queue x from list.txt\n');
  const texts = { 'a.sub': list, 'run.sh': script, 'pre.sh': script };
  const found = (dag: string): string[] =>
    all({ ...texts, 'a.dag': dag })
      .filter(({ rule }) => rule === 'no-item-list')
      .map(({ level }) => level);
  assert.deepEqual(found('JOB A a.sub\n'), ['error']);
  assert.deepEqual(found('JOB A a.sub\nSCRIPT PRE A pre.sh\n'), ['note']);
});

test('of 10,000 nodes with VARS of their own, only some are read, and that is said', () => {
  const nodes = Array.from(
    { length: 10_000 },
    (_, index) => `JOB N${index} a.sub\nVARS N${index} n="${index}"`,
  );
  const texts = { 'a.dag': nodes.join('\n'), 'a.sub': submit('arguments = $(n)'), 'run.sh': script };
  const facts = survey(texts);
  assert.ok(facts.outcomes.length < 1000);
  assert.deepEqual(
    rules(lintDag(facts)).filter((rule) => rule.includes('dag-')),
    ['note dag-not-read a.dag:1'],
  );
});

test('VARS may set a name of DAGMan to its own value, in another case', () => {
  const texts = {
    'a.dag': 'JOB A a.sub\nVARS A job="$(JOB)"\n',
    'a.sub': submit('arguments = $(job)'),
    'run.sh': script,
  };
  const facts = survey(texts);
  assert.deepEqual(rules(lintDag(facts)), []);
  assert.equal(facts.outcomes[0]?.facts.submission.queues[0]?.jobs[0]?.commands['arguments'], 'A');
});

test('150,000 nodes that write the same file are one finding', () => {
  const nodes = Array.from({ length: 150_000 }, (_, index) => `JOB N${index} a.sub`);
  const texts = {
    'a.dag': nodes.join('\n'),
    'a.sub': 'executable = run.sh\noutput = o\nqueue',
    'run.sh': script,
  };
  assert.deepEqual(dagRules(texts), ['warning dag-nodes-overwrite a.sub:2']);
});

test('inner DAGs are read in the folder of their node, with findings under their own names', () => {
  const facts = survey({
    'a.dag':
      'JOB A a.sub\nSUBDAG EXTERNAL B sub/inner.dag\nSUBDAG EXTERNAL C inner.dag DIR sub\nPARENT A CHILD C',
    'a.sub': submit(),
    'run.sh': script,
    'sub/inner.dag': 'JOB X a.sub\nJOB X2 none.sub\nPARENT X CHILD Y\nPARENT X CHILD X2\n',
  });
  assert.deepEqual(
    facts.dag.nodes.map(({ name, folder }) => [name, folder]),
    [
      ['A', '.'],
      ['B', '.'],
      ['B/X', '.'],
      ['B/X2', '.'],
      ['C', 'sub'],
      ['C/X', 'sub'],
      ['C/X2', 'sub'],
    ],
  );
  assert.deepEqual(rules(lintDag(facts).filter(({ rule }) => rule.startsWith('dag-'))), [
    'error dag-unknown-node sub/inner.dag:3',
    // B waits for nothing, C may wait for what A writes.
    'note dag-file-later sub/inner.dag:2',
    'note dag-file-later sub/inner.dag:1',
    'note dag-file-later sub/inner.dag:2',
  ]);
  assert.match(shownDag(facts, []).headline, /^a\.dag: 7 nodes, 4 of them in 2 inner DAGs; /);
});

test('an inner DAG that submits itself, or the DAG around it, is an error', () => {
  assert.deepEqual(dagRules({ 'a.dag': 'SUBDAG EXTERNAL A a.dag' }), ['error dag-cycle a.dag:1']);
  assert.deepEqual(
    dagRules({
      'a.dag': 'SUBDAG EXTERNAL A b.dag\nSUBDAG EXTERNAL B b.dag',
      'b.dag': 'SUBDAG EXTERNAL C a.dag',
    }),
    ['error dag-cycle b.dag:1'],
  );
});

test('an inner DAG has a rescue file of its own', () => {
  const { rescues } = survey({
    'a.dag': 'SUBDAG EXTERNAL B b.dag\nSUBDAG EXTERNAL C c.dag DONE',
    'b.dag': 'JOB X a.sub\nJOB Y a.sub',
    'c.dag': 'JOB X a.sub',
    'b.dag.rescue001': '# Nodes that failed: 1\n#   Y,<ENDLIST>\nDONE X\n',
    'c.dag.rescue001': 'DONE X\n',
  });
  assert.deepEqual(
    rescues.map(({ file, failed, rerun }) => [file, failed, rerun.map(({ name }) => name)]),
    [['b.dag.rescue001', ['B/Y'], ['B/Y']]],
  );
});

test('a file that is no DAG is one error', () => {
  const letter = Array.from({ length: 900 }, (_, line) => `Dear reader, this is line ${line}.`).join('\n');
  const messages = (text: string): string[] => all({ 'a.dag': text }).map(({ message }) => message);
  assert.deepEqual(messages(letter), ['this is not a DAG: 900 of its lines are not DAG commands']);
  assert.deepEqual(messages(`JOB A a.sub\n\0${letter}`), ['this is not a DAG: it is a binary file']);
  assert.equal(messages('JBO A a.sub\nJBO B a.sub').length, 2);
});

test('many submit files that are not there yet are one note', () => {
  const nodes = Array.from({ length: 40 }, (_, at) => `JOB N${at} n${at}.sub\nSCRIPT PRE N${at} run.sh`);
  const found = all({ 'a.dag': nodes.join('\n'), 'run.sh': script });
  assert.deepEqual(
    found.map(({ message }) => message),
    ['the submit file n0.sub of N0 is not there yet; nor are 39 other submit files'],
  );
});
