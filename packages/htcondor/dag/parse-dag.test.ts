import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseDag } from './parse-dag.ts';

const bodies = (text: string): unknown[] =>
  parseDag(text, 'a.dag').commands.map((command) => {
    const { place, ...body } = command;
    assert.equal(place.file, 'a.dag');
    return body;
  });
const errors = (text: string): string[] => parseDag(text, 'a.dag').errors.map(({ message }) => message);

const node = { kind: 'node', type: 'job', inline: undefined, dir: undefined, noop: false, done: false };

test('keywords are read in any case, with - or _', () => {
  assert.deepEqual(bodies('job A a.sub\nAbort_Dag-On A 3 return 1\nwEaK parent A child B'), [
    { ...node, name: 'A', submit: 'a.sub' },
    { kind: 'setting', node: 'A', keyword: 'ABORT-DAG-ON' },
    { kind: 'edges', parents: ['A'], children: ['B'] },
  ]);
});

test('a backslash continues a line, over comments and empty lines', () => {
  const text = 'JOB A a.sub \\\n# comment\n\n  DIR "my folder" \\\n  NOOP\nDONE A';
  assert.deepEqual(bodies(text), [
    { ...node, name: 'A', submit: 'a.sub', dir: 'my folder', noop: true },
    { kind: 'done', node: 'A' },
  ]);
  assert.equal(parseDag(text, 'a.dag').commands[0]?.place.line, 1);
});

test('a continuation at the end of the file is an error', () => {
  assert.deepEqual(errors('DONE A \\'), ['the file ends with a `\\`, and DAGMan ignores this command']);
});

test('values of VARS keep spaces and escaped quotes', () => {
  const text = String.raw`VARS A APPEND a="x y" b = "\"q\" \\d" +Own='1' my.x=2`;
  assert.deepEqual(bodies(text), [
    {
      kind: 'vars',
      node: 'A',
      append: true,
      pairs: [
        ['a', 'x y'],
        ['b', String.raw`"q" \d`],
        ['My.Own', '1'],
        ['my.x', '2'],
      ],
    },
  ]);
});

test('a submit description inside the DAG keeps its line numbers', () => {
  const [first, second] = parseDag(
    'JOB A {\n  # c\n  executable = x\n} DIR d\nJOB B @=end\nlog = l\n@end',
    'a.dag',
  ).commands;
  assert.ok(first?.kind === 'node' && second?.kind === 'node');
  assert.equal(first.inline?.text, '\n\nexecutable = x');
  assert.equal(first.dir, 'd');
  assert.equal(second.inline?.text.split('\n')[5], 'log = l');
});

test('commands that are read by their form take every word of it', () => {
  const lines = [
    ...['RETRY A 3 UNLESS-EXIT 2', 'RETRY A 0', 'PRIORITY A -5', 'PRE_SKIP A 255', 'TOLERANCE A 10% wait'],
    ...['SAVE_POINT_FILE A', 'SAVE_POINT_FILE A "my file"', 'CATEGORY A c', 'JOBSTATE_LOG j', 'DOT d UPDATE'],
    ...['NODE_STATUS_FILE s 60 always-update', 'SET_JOB_ATTR a = 1', 'ENV GET B', 'REJECT'],
  ];
  assert.deepEqual(errors(lines.join('\n')), []);
  assert.deepEqual(bodies('MAXJOBS c 7\nCATEGORY A c'), [
    { kind: 'other' },
    { kind: 'setting', node: 'A', keyword: 'CATEGORY' },
  ]);
});

// As condor_dag_checker of HTCondor 25.14 refuses them.
for (const [line, message] of [
  ['NODE A a.sub', '`NODE` is not a DAG command'],
  ['JOB', 'the name of the node is missing'],
  ['JOB A', 'the submit file is missing'],
  ['JOB ALL_NODES a.sub', '`ALL_NODES` cannot be the name of a node'],
  ['JOB A+B a.sub', 'the name `A+B` has a +, which stands for splices'],
  ['JOB A a.sub DIR', 'the folder after DIR is missing'],
  ['JOB A a.sub LATER', '`LATER` is one word too many'],
  ['JOB A {\nexecutable = x', 'the submit description has no closing `}`'],
  ['SUBDAG A a.dag', 'EXTERNAL is missing after SUBDAG'],
  ['PARENT A B', 'CHILD is missing'],
  ['PARENT CHILD B', 'there is no node after PARENT'],
  ['PARENT A CHILD', 'there is no node after CHILD'],
  ['SCRIPT A pre.sh', 'PRE, POST or HOLD is missing'],
  ['SCRIPT PRE A', 'the script is missing'],
  ['RETRY A -1', 'DAGMan refuses this form of RETRY'],
  ['RETRY A 1 2', 'DAGMan refuses this form of RETRY'],
  ['ABORT-DAG-ON A 1 RETURN 256', 'DAGMan refuses this form of ABORT-DAG-ON'],
  ['VARS A', 'there is no name="value"'],
  ['VARS A x', '`x` has no value: write x="…"'],
  ['VARS A x="1', 'a " has no closing "'],
  ['VARS A queue="1"', 'the name `queue` begins with `queue`'],
  ['SAVE_POINT_FILE ALL_NODES', 'DAGMan refuses this form of SAVE_POINT_FILE'],
  ['DONE ALL_NODES', 'DAGMan refuses this form of DONE'],
  ['DONE', 'DAGMan refuses this form of DONE'],
  ['REJECT it', 'DAGMan refuses this form of REJECT'],
  ['ENV A', 'DAGMan refuses this form of ENV'],
] as const)
  test(`DAGMan refuses: ${JSON.stringify(line)}`, () => {
    assert.deepEqual(errors(line), [message]);
  });

test('a mistyped command gets a suggestion', () => {
  assert.equal(parseDag('PARNT A CHILD B', 'a.dag').errors[0]?.fix, 'did you mean PARENT?');
});

const word = fc.constantFrom(
  ...'JOB VARS SCRIPT PRE PARENT CHILD SPLICE SUBDAG EXTERNAL RETRY INCLUDE DIR { } @= " \' \\ = + # A B'.split(
    ' ',
  ),
);
const line = fc
  .array(fc.oneof(word, fc.string({ maxLength: 5 })), { maxLength: 8 })
  .map((words) => words.join(' '));

test('any text is read without an exception, and every line is either a command or an error', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const { commands, errors: refused } = parseDag(lines.join('\n'), 'a.dag');
      for (const { place } of [...commands, ...refused])
        assert.ok(place.line >= 1 && place.line <= lines.join('\n').split('\n').length);
    }),
    { numRuns: 300 },
  );
});

test('any VARS value comes back when it is quoted', () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      const one = value.replaceAll(/[\n\r]/g, ' ');
      const quoted = one.replaceAll(/["\\]/g, String.raw`\$&`);
      const [command] = parseDag(`VARS A x="${quoted}" y="1"`, 'a.dag').commands;
      assert.deepEqual(command?.kind === 'vars' && command.pairs, [
        ['x', one],
        ['y', '1'],
      ]);
    }),
    { numRuns: 300 },
  );
});

test('a byte order mark is an error, and what follows it is read; UTF-16 is named as such', () => {
  const { commands, errors } = parseDag('\ufeffJOB A a.sub\nJOB B b.sub\n', 'a.dag');
  assert.equal(commands.length, 2);
  assert.match(errors[0]?.message ?? '', /byte order mark begins the file/);
  const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('JOB A a.sub\n', 'utf16le')]);
  assert.match(parseDag(wide.toString('utf8'), 'a.dag').errors[0]?.message ?? '', /it is in UTF-16/);
});
