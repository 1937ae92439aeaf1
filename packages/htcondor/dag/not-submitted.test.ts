import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DagNode } from './dag.ts';
import type { NodeState } from './dagman-log.ts';
import { type DagRun, notSubmittedReasons, notSubmittedText } from './not-submitted.ts';
import { readDag } from './read-dag.ts';

function run(text: string): DagRun {
  return {
    dag: readDag('a.dag', text, () => undefined),
    accounts: new Map(),
    done: new Set(),
    clusters: undefined,
    ends: new Map(),
    shownAs: (file) => file,
  };
}

function why(dag: DagRun, states: Record<string, NodeState>, ...names: string[]): string[] {
  const reasonOf = notSubmittedReasons(dag, (name) => states[name]);
  const node = (name: string): DagNode => {
    const found = dag.dag.byName.get(name);
    assert.ok(found !== undefined);
    return found;
  };
  return names.map((name) => notSubmittedText(reasonOf(node(name))));
}

test('a node waits for the failure above it, else for what has not ended; nodes of a cycle for nothing', () => {
  const dag = run(
    'JOB A s\nJOB B s\nJOB C s\nJOB D s\nJOB E s\nJOB F s\nPARENT A B CHILD C D\nPARENT D CHILD E\nPARENT F CHILD F',
  );
  assert.deepEqual(why(dag, { A: 'done', B: 'active' }, 'C', 'E', 'F'), [
    'it waits for B, which has not ended',
    'it waits for B, which has not ended',
    'DAGMan has not reached it yet',
  ]);
  assert.deepEqual(why(dag, { A: 'active', B: 'failed' }, 'E'), ['it waits for B, which failed']);
  assert.deepEqual(why(dag, { A: 'active', B: 'removed' }, 'E'), ['it waits for B, which was removed']);
});

test('a NOOP node has no job, but waits like any other', () => {
  const dag = run('JOB A s\nJOB B s NOOP\nPARENT A CHILD B\nJOB C s NOOP DONE\n');
  assert.deepEqual(why(dag, { A: 'active' }, 'B', 'C'), [
    'it waits for A, which has not ended',
    'it is marked as DONE',
  ]);
  assert.deepEqual(why(dag, { A: 'done' }, 'B'), ['it is a NOOP node, which has no job']);
});

test('20,000 nodes in a row, each with all those of the layer above it, are each looked at once', () => {
  const layers = Array.from({ length: 200 }, (_, layer) =>
    Array.from({ length: 100 }, (__, at) => `N${layer}_${at}`),
  );
  const text = layers.flatMap((names, layer) => [
    ...names.map((name) => `JOB ${name} s`),
    ...(layer === 0 ? [] : [`PARENT ${(layers[layer - 1] ?? []).join(' ')} CHILD ${names.join(' ')}`]),
  ]);
  const dag = run(text.join('\n'));
  let asked = 0;
  const reasonOf = notSubmittedReasons(dag, (name) => {
    asked += 1;
    return name === 'N0_7' ? 'failed' : undefined;
  });
  const reasons = new Set(dag.dag.nodes.slice(100).map((node) => notSubmittedText(reasonOf(node))));
  assert.deepEqual([...reasons], ['it waits for N0_7, which failed']);
  assert.equal(asked, 20_000);
});
