import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readRunState } from '../../src/run/run-states.ts';
import { carriedLibrary, readLibrary } from '../../scripts/agent-bundle.ts';
import { pythonPackages } from '../../scripts/python-packages.ts';
import { RunHarness } from '../run/run-harness.ts';
import { env, findWith, passInPython, run } from './in-python.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const cwd = path.resolve(import.meta.dirname, '../../python');

test('a training with updraft resumes at the very next batch', async (t) => {
  await passInPython(t, [
    'test_updraft',
    'test_stream',
    'test_images',
    'test_random',
    'test_trust',
    'test_private',
  ]);
});

for (const [framework, modules, suite] of [
  ['Lightning', ['torch', 'numpy', 'lightning'], 'WithLightning'],
  ["Hugging Face's Trainer", ['torch', 'numpy', 'transformers', 'accelerate'], 'WithTrainer'],
  ['the Trainer in two processes', ['torch', 'numpy', 'transformers', 'accelerate'], 'InRanks'],
] as const)
  test(`a training with ${framework} resumes at the very next batch`, async (t) => {
    const python = await findWith([...modules]);
    if (python === undefined) {
      t.skip(`no Python on this machine has ${modules.join(', ')}`);
      return;
    }
    const words = ['-B', '-m', 'unittest', `test_updraft_callbacks.${suite}`];
    const { stderr } = await run(python, words, { cwd, env });
    const ended = /^OK(?: \(skipped=(\d+)\))?$/m.exec(stderr);
    assert.ok(ended, stderr);
    if (ended[1] !== undefined)
      await t.test(`${ended[1]} of its tests in Python`, (part) => {
        part.skip(`its version of ${framework} is too old`);
      });
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

test('a run brings the package updraft, and its attempts continue one another', async (t) => {
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

/** The statements of each file, without types and texts that are only to be read, with their first lines. */
const statements = `import ast, json, sys
def untyped(one):
    is_typed = isinstance(one, ast.AnnAssign) and one.value is not None
    return ast.Assign([one.target], one.value, lineno=one.lineno) if is_typed else one
def plain(text):
    tree = ast.parse(text)
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef):
            one.returns = None
            for each in ast.walk(one):
                if isinstance(each, ast.arg):
                    each.annotation = None
                for name in ("body", "orelse"):
                    inner = getattr(each, name, None)
                    if isinstance(inner, list):
                        setattr(each, name, [untyped(part) for part in inner])
        body = getattr(one, "body", None)
        if isinstance(body, list):
            body = [each for each in body if getattr(each, "module", None) != "typing"]
            one.body = [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    lines = [one.lineno for one in ast.walk(tree) if isinstance(one, ast.stmt)]
    return ast.dump(tree), lines
whole, carried = (json.load(open(name)) for name in sys.argv[1:])
assert whole.keys() == carried.keys()
for name in whole:
    assert plain(whole[name]) == plain(carried[name]), name
`;

test('what the agent carries is the package, without what is only to be read', async (t) => {
  const python = await findWith([]);
  if (python === undefined) {
    t.skip('no Python on this machine');
    return;
  }
  const folder = await temporaryFolder(t);
  const names = [readLibrary(), carriedLibrary()].map((files, place) => {
    const file = path.join(folder, `${place}.json`);
    writeFileSync(file, JSON.stringify(files));
    return file;
  });
  await run(python, ['-c', statements, ...names]);
});

test('mypy finds the types of updraft right', async (t) => {
  const python = await findWith(['torch', 'mypy']);
  if (python === undefined) {
    t.skip('no Python on this machine has torch, mypy');
    return;
  }
  const words = ['-m', 'mypy', '--strict', '--ignore-missing-imports', '--allow-subclassing-any'];
  const { stdout } = await run(python, [...words, '--cache-dir=/dev/null', '-p', 'updraft'], { cwd, env });
  assert.match(stdout, /no issues found/);
});

test('pyright finds the types of updraft right, and a typo of a user', async (t) => {
  const pyright = path.join(pythonPackages, 'basedpyright/index.js');
  const python = await findWith(['torch']);
  if (!existsSync(pyright) || python === undefined) {
    t.skip('this machine has no pyright, or no PyTorch');
    return;
  }
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'typo.py'), 'import updraft\n\nupdraft.trainning()\n');
  const check = async (...words: string[]): Promise<string> =>
    await run(process.execPath, [pyright, '--pythonpath', python, ...words], { cwd, env }).then(
      ({ stdout }) => stdout,
      (error: unknown) => (error as { stdout: string }).stdout,
    );
  assert.match(await check('-p', 'pyrightconfig.json'), /^0 errors/m);
  assert.match(await check(path.join(folder, 'typo.py')), /"trainning" is not a known attribute/);
});
