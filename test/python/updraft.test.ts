import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findPython } from '../../src/environment/find-python.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { RunHarness } from '../run/run-harness.ts';
import { hangMs } from '../hang-limit.ts';

const run = promisify(execFile);
const cwd = path.resolve(import.meta.dirname, '../../python');

const suites = ['test_updraft', 'test_stream', 'test_random', 'test_trust'];

/** Only installed, not imported: PyTorch takes seconds, and the tests say soon enough if it does not work. */
const findWith = async (modules: string[]): Promise<string | undefined> =>
  (await findPython(modules, process.env, { signal: AbortSignal.timeout(hangMs), isQuick: true })).found;

test('a training with updraft.py resumes at the very next batch', async (t) => {
  const withTorch = await findWith(['torch', 'numpy']);
  const python = withTorch ?? (await findWith([]));
  if (python === undefined) {
    t.skip('no Python on this machine');
    return;
  }
  const { stderr } = await run(python, ['-B', '-m', 'unittest', ...suites], { cwd });
  const ended = /^OK(?: \(skipped=(\d+)\))?$/m.exec(stderr);
  assert.ok(ended, stderr);
  // A test of its own: only those are counted as skipped, by name.
  const lacks =
    withTorch === undefined ? 'no Python on this machine has torch, numpy' : 'its PyTorch is too old';
  if (ended[1] !== undefined)
    await t.test(`${ended[1]} of its tests in Python`, (part) => {
      part.skip(lacks);
    });
});

for (const [framework, modules, suite] of [
  ['Lightning', ['torch', 'numpy', 'lightning'], 'WithLightning'],
  ["Hugging Face's Trainer", ['torch', 'numpy', 'transformers', 'accelerate'], 'WithTrainer'],
] as const)
  test(`a training with ${framework} resumes at the very next batch`, async (t) => {
    const python = await findWith([...modules]);
    if (python === undefined) {
      t.skip(`no Python on this machine has ${modules.join(', ')}`);
      return;
    }
    const { stderr } = await run(python, ['-B', '-m', 'unittest', `test_updraft_callbacks.${suite}`], {
      cwd,
    });
    assert.match(stderr, /^OK$/m);
  });

const counting = `import json, os, signal
import updraft

class Tape:
    lines = []
    def state_dict(self):
        return {"lines": self.lines}
    def load_state_dict(self, state):
        self.lines = state["lines"]

print("started", file=open(os.environ["LOG"], "a"))
tape = Tape()
with updraft.training(tape=tape) as run:
    for epoch in run.epochs(2):
        for number in run.batches(range(5)):
            tape.lines = [*tape.lines, [epoch, number]]
            run.log(loss=number)
            if number == 2:
                os.kill(os.getpid(), signal.SIGTERM)
json.dump(tape.lines, open("model.pt", "w"))
`;

const jobFile = `name = "counting"
[train]
command = "python3 train.py"
files = ["train.py"]
outputs = ["model.pt"]
checkpoint = "checkpoints"
[run]
pool = "local"
[resources]
cpus = 1
memory = "50 MB"
`;

test('a run brings updraft.py, and its attempts continue one another', async (t) => {
  const harness = await RunHarness.make(t);
  await writeFile(path.join(harness.folder, 'train.py'), counting);
  await writeFile(path.join(harness.folder, 'updraft.toml'), jobFile);
  const { code, out, err } = await harness.updraft('run');
  assert.equal(code, 0, `${out}${err}`);
  const [run] = await harness.runs();
  const [job] = (await readRunState(run!)).jobs;
  const { epoch, saves = 0, saveSeconds = 0 } = job?.attempts.at(-1)?.agent?.training ?? {};
  assert.equal(epoch, 2);
  assert.ok(saves > 0 && saveSeconds > 0, 'it reports its checkpoints');
  assert.equal((await harness.trainings()).length, 3, 'it left twice');
  const lines = JSON.parse(await readFile(path.join(run!, 'results/0000/model.pt'), 'utf8')) as unknown;
  assert.deepEqual(
    lines,
    [0, 1].flatMap((epoch) => [0, 1, 2, 3, 4].map((number) => [epoch, number])),
  );
});

test('the types of updraft.py hold', async (t) => {
  const python = await findWith(['mypy']);
  if (python === undefined) {
    t.skip('no Python on this machine has mypy');
    return;
  }
  const words = ['-m', 'mypy', '--strict', '--ignore-missing-imports', '--cache-dir=/dev/null', 'updraft.py'];
  const { stdout } = await run(python, words, { cwd });
  assert.match(stdout, /no issues found/);
});
