import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock, tried } from '@updraft/base';
import { project, slurmHarness } from './slurm-harness.ts';

/** Jobs of two nodes, with two processes each, on the small cluster. */
const resources = 'nodes = 2\ncpus = 2';

test('each node starts its processes, the first one leads, and its results count', async (t) => {
  const train = [
    'echo "$RANK of $WORLD_SIZE: $LOCAL_RANK of $LOCAL_WORLD_SIZE on $SLURMD_NODENAME, node $GROUP_RANK"',
    'echo "at $MASTER_ADDR:$MASTER_PORT"',
    '[ "$RANK" != 0 ] || echo "$WORLD_SIZE" > model.pt',
  ].join('\n');
  const harness = await slurmHarness(t, project(train, { resources, train: 'processes = 2' }));
  if (harness === undefined) return;
  const run = await harness.submit();
  const { jobs } = await harness.finish(run);
  assert.equal(jobs[0]?.outcome, 'success');
  assert.equal(await readFile(path.join(run, 'results/0000/model.pt'), 'utf8'), '4\n');
  const { out } = await harness.updraft('logs', path.basename(run));
  const places = out.split('\n').filter((line) => line.includes(' of '));
  assert.deepEqual(places.toSorted(), [
    '0 of 4: 0 of 2 on n1, node 0',
    '[rank 1] 1 of 4: 1 of 2 on n1, node 0',
    '[rank 2] 2 of 4: 0 of 2 on n2, node 1',
    '[rank 3] 3 of 4: 1 of 2 on n2, node 1',
  ]);
  assert.equal(new Set(out.match(/at 127\.0\.0\.1:\d+/g)).size, 1);
  assert.deepEqual(await readdir(harness.scratch), []);
});

test('a process that fails on another node ends all of them, and `why` has its error', async (t) => {
  const train = [
    'if [ "$RANK" = 3 ]; then echo "ValueError: no such class" >&2; exit 7; fi',
    'trap "exit 9" TERM',
    'while :; do sleep 0.1; done',
  ].join('\n');
  const harness = await slurmHarness(t, project(train, { resources, train: 'processes = 2' }));
  if (harness === undefined) return;
  const run = await harness.submit();
  const { jobs } = await harness.finish(run);
  assert.deepEqual(
    jobs[0]?.attempts.map(({ ending, exit }) => [ending, exit]),
    [['failed', 7]],
  );
  const why = await harness.updraft('why', path.basename(run), '0');
  assert.match(why.out, /failed with exit code 7 \(rank 3\): ValueError: no such class/);
  assert.deepEqual(await readdir(harness.scratch), []);
});

const waiting = [
  'if [ "$UPDRAFT_ATTEMPT" = 1 ]; then while :; do sleep 0.1; done; fi',
  'echo "$UPDRAFT_ATTEMPT" > model.pt',
].join('\n');

for (const node of [0, 1])
  test(`the attempt ends on both nodes when the agent of node ${node} is killed, and another one follows`, async (t) => {
    const harness = await slurmHarness(t, project(waiting, { resources }));
    if (harness === undefined) return;
    const run = await harness.submit();
    const state = await harness.until(run, ({ jobs }) => jobs[0]?.attempts[0]?.agent?.phase === 'training');
    assert.equal(state.jobs[0]?.attempts.length, 1);
    const agents = agentsOf(run);
    assert.equal(agents.length, 2);
    while (trainingsIn(harness.scratch).length < 2) await systemClock.sleep(50);
    process.kill(agents[node]!, 'SIGKILL');
    const { jobs } = await harness.finish(run);
    assert.deepEqual(
      jobs[0]?.attempts.map(({ ending }) => ending),
      ['failed', 'success'],
    );
    assert.deepEqual([agents.filter(isAlive), trainingsIn(harness.scratch)], [[], []]);
    assert.deepEqual(await readdir(harness.scratch), []);
  });

/** The agents of a run's first attempt, that of the first node first. */
function agentsOf(run: string): number[] {
  const lines = execFileSync('ps', ['-eww', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  const its = lines.filter((line) => line.includes(` shared ${run}/`) && !/ \S*sh /.test(line));
  return its.toSorted((a, b) => a.length - b.length).map((line) => Number.parseInt(line, 10));
}

/** Processes of trainings whose scratch folder is there. */
const trainingsIn = (scratch: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    const variables = /^\d+$/.test(pid) && tried(() => readFileSync(`/proc/${pid}/environ`, 'utf8'));
    return typeof variables === 'string' && variables.includes(`UPDRAFT_WORK=${scratch}/`);
  });

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
