import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { Train } from '../../src/job/spec.ts';
import type { Rungs } from '../../src/search/rungs.ts';
import { AgentHarness } from './agent-harness.ts';

const rungs: Rungs = {
  metric: 'val_accuracy',
  isLowerBetter: false,
  unit: 'epochs',
  budgets: [1, 3, 4],
  eta: 3,
};

/** Resumes, saves each epoch before it reports it, stays in epoch `waits` until it is asked to leave, and ends after 4. */
const trial = (waits: number): Partial<Train> => ({
  checkpoint: 'ckpt',
  command: `
trap 'exit 85' TERM
n=$(cat ckpt/n 2> /dev/null || echo 0)
while [ $n -lt 4 ]; do
  while [ $n -eq ${waits} ]; do sleep 0.05; done
  n=$((n+1)); echo $n > ckpt/n.part; mv ckpt/n.part ckpt/n
  echo "epoch $n val_accuracy 0.$n"
done
echo $n > model.pt`,
});

/** Other trials' notes. */
async function others(harness: AgentHarness, notes: Record<string, string[]>): Promise<string> {
  for (const [folder, names] of Object.entries(notes)) {
    await mkdir(harness.at(`notes/${folder}`), { recursive: true });
    for (const name of names) await writeFile(harness.at(`notes/${folder}/${name}`), 'a note');
  }
  return harness.at('notes');
}

const notesIn = (harness: AgentHarness, folder: string): Promise<string[]> =>
  readdir(path.join(harness.at('notes'), folder)).catch(() => []);

test('a trial that is not among the best third of its rung leaves, as a success without its outputs', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = await others(harness, {
    'rung-1': ['0001_1_0.05'],
    'rung-2': ['0001_1_0.9', '0002_1_0.8'],
  });
  const { exit, stderr } = await harness.run({ train: trial(3), rungs, notesFolder });
  assert.equal(exit, 0, stderr);
  assert.deepEqual(
    harness
      .entries('rung')
      .map(({ rung, at, value, seen, better, goesOn }) => [rung, at, value, seen, better, goesOn]),
    [
      [1, 1, 0.1, 2, 0, true],
      [2, 3, 0.3, 3, 2, false],
    ],
  );
  assert.deepEqual(await notesIn(harness, 'rung-1'), ['0000_1_0.1', '0001_1_0.05']);
  assert.deepEqual(await notesIn(harness, 'rung-2'), ['0000_1_0.3', '0001_1_0.9', '0002_1_0.8']);
  assert.deepEqual(await notesIn(harness, 'stopped-early'), ['0000']);
  assert.equal(harness.entries('agent-ended')[0]?.outcome, 'success');
  assert.deepEqual(harness.entries('fault'), []);
  assert.deepEqual(await readdir(harness.at('results/0000')), ['.updraft.json']);
  assert.deepEqual(harness.checkpoint(), { n: '3\n' });
  assert.deepEqual(harness.leftovers(), []);
});

test('a trial that its user chose goes on where it was stopped, and keeps the checkpoint of its end', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = await others(harness, { 'rung-1': ['0001_1_0.9', '0002_1_0.8'] });
  await harness.run({ train: trial(1), rungs, notesFolder });
  assert.equal(harness.entries('agent-ended')[0]?.stoppedEarly, true);
  await others(harness, { 'rung-2': ['0001_1_0.9', '0002_1_0.8'] });
  const chosen: Rungs = { ...rungs, eta: 1 };
  assert.equal((await harness.run({ attempt: 2, train: trial(-1), rungs: chosen, notesFolder })).exit, 0);
  assert.deepEqual(
    harness.entries('rung', 2).map(({ rung, better, goesOn }) => [rung, better, goesOn]),
    [
      [2, 2, true],
      [3, 0, true],
    ],
  );
  assert.equal(harness.entries('agent-ended', 2)[0]?.stoppedEarly, undefined);
  assert.equal(harness.result('model.pt'), '4\n');
  assert.deepEqual(harness.checkpoint(), { n: '4\n' });
});

test('an output that is there already is returned with a trial that was stopped early', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = await others(harness, { 'rung-1': ['0001_1_0.5', '0002_1_0.5'] });
  const command = 'echo 1 > model.pt; echo "epoch 1 val_accuracy 0.1"; exec sleep 60';
  const train = { command, outputs: ['model.pt', 'missing.pt'] };
  assert.equal((await harness.run({ train, rungs, notesFolder })).exit, 0);
  assert.equal(harness.result('model.pt'), '1\n');
});

test('a trial that cannot be asked to leave may save what it has reported', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = await others(harness, { 'rung-1': ['0001_1_0.5'] });
  const isDecided = `[ -e '${notesFolder}/stopped-early/0000' ]`;
  const command = `echo "epoch 1 val_accuracy 0.1"; until ${isDecided}; do sleep 0.01; done; echo 1 > ckpt/n; exec sleep 60`;
  const train = { command, checkpoint: 'ckpt' };
  assert.equal((await harness.run({ train, rungs, notesFolder })).exit, 0);
  assert.deepEqual(harness.checkpoint(), { n: '1\n' });
});

test('the next attempt of a trial that lost its slot while it was stopped stops there, and reports nothing', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = await others(harness, {
    'rung-1': ['0001_1_0.05'],
    'rung-2': ['0001_1_0.9', '0002_1_0.8'],
  });
  assert.equal((await harness.run({ train: trial(3), rungs, notesFolder })).exit, 0);
  assert.equal((await harness.run({ attempt: 2, train: trial(3), rungs, notesFolder })).exit, 0);
  assert.deepEqual(harness.entries('rung', 2), []);
  assert.deepEqual(await notesIn(harness, 'rung-2'), ['0000_1_0.3', '0001_1_0.9', '0002_1_0.8']);
  assert.deepEqual(harness.checkpoint(), { n: '3\n' });
});

test('a rung that an earlier attempt has reported is not reported again', async (t) => {
  const harness = await AgentHarness.open(t);
  const earlier = { 'rung-1': ['0000_1_0.1', '0001_1_0.05'], 'rung-2': ['0000_1_0.3'] };
  const notesFolder = await others(harness, earlier);
  assert.equal((await harness.run({ attempt: 2, train: trial(-1), rungs, notesFolder })).exit, 0);
  assert.deepEqual(
    harness.entries('rung', 2).map(({ rung, goesOn }) => [rung, goesOn]),
    [[3, true]],
  );
  assert.deepEqual(await notesIn(harness, 'rung-1'), ['0000_1_0.1', '0001_1_0.05']);
  assert.equal(harness.result('model.pt'), '4\n');
});

test('in rounds a trial ends at its rung, whatever notes there are, and again if its slot was lost first', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = await others(harness, { 'rung-1': ['0001_1_0.5'] });
  const inRounds: Rungs = { ...rungs, until: 1 };
  const ends = (attempt?: number) =>
    harness
      .entries('agent-ended', attempt)
      .map(({ outcome, stoppedEarly, atRung }) => [outcome, stoppedEarly, atRung]);
  assert.equal((await harness.run({ train: trial(2), rungs: inRounds, notesFolder })).exit, 0);
  assert.deepEqual(
    harness.entries('rung').map(({ rung, seen, goesOn }) => [rung, seen, goesOn]),
    [[1, 1, true]],
  );
  assert.deepEqual(ends(), [['success', true, 1]]);
  assert.deepEqual(await notesIn(harness, 'rung-1'), ['0001_1_0.5']);
  assert.deepEqual(harness.checkpoint(), { n: '2\n' });
  // As if the first had lost its slot after its report.
  assert.equal((await harness.run({ attempt: 2, train: trial(3), rungs: inRounds, notesFolder })).exit, 0);
  assert.deepEqual([harness.entries('rung', 2), ends(2)], [[], [['success', true, 1]]]);
  const last: Rungs = { ...rungs, until: 3 };
  assert.equal((await harness.run({ attempt: 3, train: trial(-1), rungs: last, notesFolder })).exit, 0);
  assert.deepEqual(ends(3), [['success', undefined, undefined]]);
});

test('a trial that went on for want of others is judged again by what they have reported since', async (t) => {
  const harness = await AgentHarness.open(t);
  const earlier = { 'rung-1': ['0000_1_0.1', '0001_1_0.5', '0002_1_0.5'] };
  const notesFolder = await others(harness, earlier);
  assert.equal((await harness.run({ attempt: 2, train: trial(2), rungs, notesFolder })).exit, 0);
  assert.deepEqual(
    harness
      .entries('rung', 2)
      .map(({ rung, value, seen, better, goesOn }) => [rung, value, seen, better, goesOn]),
    [[1, 0.1, 3, 2, false]],
  );
  assert.deepEqual(await notesIn(harness, 'stopped-early'), ['0000']);
  assert.deepEqual(await notesIn(harness, 'rung-1'), earlier['rung-1']);
});

test('nobody is stopped where no notes can be shared, and the journal has the rungs', async (t) => {
  const harness = await AgentHarness.open(t);
  assert.equal((await harness.run({ train: trial(-1), rungs })).exit, 0);
  assert.deepEqual(
    harness.entries('rung').map(({ rung, seen, goesOn, unheard }) => [rung, seen, goesOn, unheard]),
    [
      [1, 1, true, true],
      [2, 1, true, true],
      [3, 1, true, true],
    ],
  );
  assert.equal(existsSync(harness.at('notes')), false);
});

test('a trial that is not judged in time, and succeeds, has its result', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = await others(harness, { 'rung-2': ['0001_1_0.9', '0002_1_0.8'] });
  const command = 'for n in 1 2 3; do echo "epoch $n val_accuracy 0.$n"; done; echo 3 > model.pt';
  assert.equal((await harness.run({ train: { command }, rungs, notesFolder })).exit, 0);
  assert.equal(harness.result('model.pt'), '3\n');
});
