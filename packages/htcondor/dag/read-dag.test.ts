import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parentsIn, type Dag, DagGraph } from './dag.ts';
import { readDag } from './read-dag.ts';

const read = (files: Record<string, string>): Dag =>
  readDag('a.dag', files['a.dag'] ?? '', (name) => files[name]);

const problems = (dag: Dag): string[] =>
  dag.problems.map(({ kind, message, place }) => `${place.file}:${place.line} ${kind}: ${message}`);

const parents = (dag: Dag, name: string): string[] => {
  const node = dag.byName.get(name);
  return node === undefined ? [] : parentsIn(dag, node).map((parent) => parent.name);
};

test('commands may come before their nodes, and ALL_NODES leaves out the FINAL node', () => {
  const dag = read({
    'a.dag': [
      'VARS ALL_NODES n="1"',
      'PARENT A CHILD B C',
      'JOB A a.sub',
      'JOB B a.sub DIR sub',
      'JOB C a.sub',
      'FINAL F f.sub',
      'VARS B n="2"',
      'RETRY B 3',
      'SCRIPT POST F post.sh $DAG_STATUS',
    ].join('\n'),
  });
  assert.deepEqual(problems(dag), []);
  assert.deepEqual(
    dag.nodes.map(({ name, folder, vars }) => [name, folder, vars.find(({ name }) => name === 'n')?.value]),
    [
      ['A', '.', '1'],
      ['B', 'sub', '2'],
      ['C', '.', '1'],
      ['F', '.', undefined],
    ],
  );
  assert.deepEqual(parents(dag, 'C'), ['A']);
  assert.equal(dag.byName.get('F')?.scripts.get('POST')?.command, 'post.sh $DAG_STATUS');
});

test('of several VARS lines the last value counts, and many lines take no more than their share', (t) => {
  const count = 1000;
  const lines = Array.from({ length: count }, (_, at) => `VARS A v${at}="${at}"`);
  const text = ['JOB A a.sub', 'VARS A PREPEND v1="0"', ...lines, 'VARS A APPEND v0="last"'].join('\n');
  const set = t.mock.method(Map.prototype, 'set');
  const dag = read({ 'a.dag': text });
  const calls = set.mock.callCount();
  set.mock.restore();
  const [first, second, ...rest] = dag.byName.get('A')?.vars ?? [];
  assert.deepEqual([first?.name, first?.value, first?.append], ['v1', '1', false]);
  assert.deepEqual([second?.name, second?.value, second?.place.line], ['v0', 'last', count + 3]);
  assert.equal(rest.length, count - 2);
  assert.ok(calls < 10 * count, `${calls} entries were written`);
});

test('a splice stands for its first and last nodes, and its nodes carry its name', () => {
  const dag = read({
    'a.dag': 'JOB A a.sub\nSPLICE S s.dag DIR in\nJOB Z a.sub\nPARENT A CHILD S\nPARENT S CHILD Z',
    'in/s.dag': 'JOB X x.sub\nJOB Y x.sub DIR deep\nPARENT X CHILD Y\nINCLUDE more.inc',
    'in/more.inc': 'VARS Y n="1"',
  });
  assert.deepEqual(problems(dag), []);
  assert.deepEqual(
    dag.nodes.map(({ name, folder }) => [name, folder]),
    [
      ['A', '.'],
      ['S+X', 'in'],
      ['S+Y', 'in/deep'],
      ['Z', '.'],
    ],
  );
  assert.deepEqual(parents(dag, 'S+X'), ['A']);
  assert.deepEqual(parents(dag, 'Z'), ['S+Y']);
  assert.equal(dag.byName.get('S+Y')?.vars.find(({ name }) => name === 'n')?.value, '1');
});

test('pins of splices are not read, and CONNECT says so', () => {
  const dag = read({
    'a.dag': 'SPLICE S s.dag\nSPLICE T t.dag\nCONNECT S T',
    's.dag': 'JOB A a.sub\nJOB B a.sub\nPIN_OUT A 1\nPIN_OUT B 2',
    't.dag': 'JOB C a.sub\nJOB D a.sub\nPIN_IN C 1\nPIN_IN D 2',
  });
  assert.deepEqual(problems(dag), [
    'a.dag:3 not-read: CONNECT orders the nodes of two splices by their pins, which were not read',
  ]);
});

test('what DAGMan refuses is found with its file and line', () => {
  const dag = read({
    'a.dag': [
      'JOB train a.sub',
      'JOB train b.sub',
      'PARENT tran CHILD train',
      'FINAL F f.sub',
      'FINAL G f.sub',
      'PARENT F CHILD train',
      'RETRY F 2',
      'SPLICE S none.dag',
      'SPLICE L loop.dag',
      'VARS L+A x="1"',
      'REJECT',
    ].join('\n'),
    'loop.dag': 'JOB A a.sub\nINCLUDE loop.dag\nFINAL F f.sub',
  });
  assert.deepEqual(problems(dag), [
    'a.dag:2 duplicate-node: `train` is defined already (line 1 of a.dag)',
    'a.dag:5 duplicate-node: there is a second FINAL node',
    'a.dag:8 missing-file: the DAG of the splice, none.dag, is not there',
    'loop.dag:3 misused-node: a splice has a FINAL node',
    'loop.dag:2 recursion: loop.dag includes itself',
    'a.dag:11 rejected: DAGMan refuses a DAG with REJECT',
    'a.dag:3 unknown-node: there is no node tran',
    'a.dag:6 misused-node: the FINAL node F cannot have parents or children',
    'a.dag:7 misused-node: RETRY cannot be used with the FINAL node F',
    'a.dag:10 unknown-node: there is no node L+A',
  ]);
  assert.match(dag.problems.find(({ kind }) => kind === 'unknown-node')?.fix ?? '', /did you mean train\?/);
});

test('DAGMan refuses to abort by a FINAL node, and a PRE_SKIP that is no exit code', () => {
  const problems = (line: string): string[] =>
    read({ 'a.dag': `JOB A s\nFINAL F s\n${line}` }).problems.map(({ message }) => message);
  assert.match(problems('ABORT-DAG-ON F 2').join(), /ABORT-DAG-ON cannot be used with the FINAL node F/);
  assert.deepEqual(problems('ABORT-DAG-ON A 2\nPRE_SKIP A 255\nPRE_SKIP F 3'), []);
  for (const code of [256, -1])
    assert.match(problems(`PRE_SKIP A ${code}`).join(), /refuses this form of PRE_SKIP/);
});

test('splices of splices end at a limit', () => {
  const spliced = (file: string): string => `SPLICE S ${file}\nSPLICE T ${file}\nSPLICE U ${file}`;
  const files: Record<string, string> = {
    'b.dag': spliced('c.dag'),
    'c.dag': spliced('d.dag'),
    'd.dag': 'JOB A a.sub',
  };
  const dag = readDag('a.dag', spliced('b.dag'), (name) => files[name], 10);
  assert.equal(dag.nodes.length, 10);
  assert.deepEqual(
    dag.problems.map(({ kind }) => kind),
    ['not-read'],
  );
});

test('a cycle is found, and shown in its order', () => {
  const dag = read({
    'a.dag': 'JOB A s\nJOB B s\nJOB C s\nJOB D s\nPARENT A CHILD B\nPARENT B CHILD C\nPARENT C CHILD B D',
  });
  const names = dag.graph.cycle()?.map((index) => dag.byIndex[index]?.name);
  assert.deepEqual(names, ['B', 'C']);
});

test('a graph with edges from lower to higher numbers has an order, and one edge back makes a cycle', () => {
  const edges = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 60 });
  fc.assert(
    fc.property(edges, (pairs) => {
      const graph = new DagGraph();
      for (let node = 0; node <= 20; node++) graph.addNode();
      for (const [a, b] of pairs) if (a !== b) graph.connect([Math.min(a, b)], [Math.max(a, b)]);
      assert.equal(graph.cycle(), undefined);
      const depths = graph.inherit<number>(
        (_, ofParents) => 1 + Math.max(0, ...ofParents),
        (ofParents) => Math.max(...ofParents),
      );
      assert.equal(depths.size, 21);
      for (const [node, depth] of depths)
        for (const parent of graph.parentsOf(node)) assert.ok((depths.get(parent) ?? 99) < depth);
      graph.connect([0, 1], [2, 3]);
      graph.connect([3], [0]);
      const cycle = graph.cycle() ?? [];
      assert.ok(cycle.length > 1);
      for (const [index, node] of cycle.entries())
        assert.ok(graph.parentsOf(cycle[(index + 1) % cycle.length] ?? -1).includes(node));
    }),
    { numRuns: 100 },
  );
});
