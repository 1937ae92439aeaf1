import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadPlan } from '../../src/job/load-plan.ts';
import { askSampler } from '../../src/run/ask-sampler.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { eventually, RunHarness } from './run-harness.ts';

const search = `[resources]
cpus = 1
memory = "10 MB"
[search]
trials = 2
metric = "val_accuracy"
epochs = [1, 2]
sampler = "next.py"
ranges = { lr = { uniform = [0, 1] }, layers = { int = [2, 8] }, kind = ["a", "b"] }
`;

/** Draws one layer more for each trial, and keeps what it was asked. */
const next = `import json, sys
text = sys.stdin.read()
asked = json.loads(text)
with open("asked", "a") as file:
    file.write(text + "\\n")
for at in range(asked["count"]):
    print(json.dumps({"kind": "b", "lr": 0.5, "layers": 3 + len(asked["trials"]) + at}))
`;

async function searchHarness(
  ...[t, text]: [Parameters<typeof RunHarness.make>[0], string]
): Promise<RunHarness> {
  const harness = await RunHarness.make(t);
  // All are alike, so that none stops for another.
  const train =
    'for n in 1 2; do echo "epoch $n val_accuracy 0.3$n"; done; ' +
    '[ {index} = 1 ] && exit 3; echo {layers} {kind} {lr} {epochs} > model.pt';
  await harness.describe(train, '', search);
  await writeFile(path.join(harness.folder, 'next.py'), text);
  return harness;
}

test("a Python file of the user's draws the trials of a search, and those that are added, and no others", async (t) => {
  const harness = await searchHarness(t, next);
  const asked = async (): Promise<{ count: number; trials: object[] }[]> =>
    (await readFile(path.join(harness.folder, 'asked'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { count: number; trials: object[] });
  const planned = (await harness.updraft('plan')).out.replaceAll(/\s+/g, ' ');
  assert.match(planned, /next\.py draws others in their place when the run is created/);
  await harness.updraft('run');
  const [run] = await harness.runs();
  const again = await harness.updraft('submit');
  assert.match(again.err, /already finished/, again.err);
  assert.equal((await asked()).length, 1);
  const { trials: none, ...question } = (await asked())[0]!;
  assert.deepEqual(
    [none, question],
    [
      [],
      {
        ...{ count: 2, seed: 0, metric: 'val_accuracy', direction: 'maximize' },
        ranges: { lr: { uniform: [0, 1] }, layers: { int: [2, 8] }, kind: ['a', 'b'] },
      },
    ],
  );

  const result = (job: string): Promise<string> =>
    readFile(path.join(run!, 'results', job, 'model.pt'), 'utf8');
  assert.equal(await result('0000'), '3 b 0.5 2\n');
  // The job file draws nothing when it is read again.
  const file = path.join(harness.folder, 'updraft.toml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('exit 3', 'true'));
  const retried = await harness.updraft('retry', '--with-new-files', '--yes');
  assert.match(retried.out, /queued 1 job again/, retried.err);
  await harness.until(run!, ({ tally }) => tally.success === 2);
  assert.equal(await result('0001'), '4 b 0.5 2\n');

  const dry = await harness.updraft('retry', '--trials', '+1', '--dry-run');
  assert.match(dry.err, /1 trial to add: 0002 \(.*layers=5/);
  const added = await harness.updraft('retry', '--trials', '+2', '--yes');
  assert.match(added.out, /queued 2 trials/, added.err);
  await harness.until(run!, ({ tally }) => tally.success === 4);
  const { jobs } = await readRunState(run!);
  assert.deepEqual(
    jobs.map(({ parameters }) => parameters),
    [3, 4, 5, 6].map((layers) => ({ epochs: 2, lr: 0.5, layers, kind: 'b' })),
  );
  assert.deepEqual(
    (await asked()).map(({ count, trials }) => [count, trials.length]),
    [
      [2, 0],
      [1, 2],
      [2, 2],
    ],
  );
  assert.deepEqual((await asked()).at(-1)?.trials[0], {
    parameters: { epochs: 2, lr: 0.5, layers: 3, kind: 'b' },
    outcome: 'success',
    value: 0.32,
    rungs: { 1: 0.31, 2: 0.32 },
  });
});

test('what no trial can be is refused, with its line, before anything is written', async (t) => {
  const harness = await searchHarness(t, next);
  const file = path.join(harness.folder, 'next.py');
  const say = (...lines: string[]): string => lines.map((line) => `print('''${line}''')\n`).join('');
  const fine = '{"lr": 1, "layers": 2, "kind": "a"}';
  for (const [text, expected] of [
    [say(fine), /^next\.py printed 1 line; expected one for each of 2 trials$/],
    [say(fine, fine, ''), undefined],
    [say(fine, fine, fine), /printed 3 lines/],
    [
      say(fine, 'best so far'),
      /^next\.py, line 2 of its output: "lr" is missing; expected \{"uniform":\[0,1\]\}$/,
    ],
    [say(fine, fine.replace('1', '1.5')), /line 2 of its output: "lr" is 1\.5; expected/],
    [say(fine, fine.replace('2', '2.5')), /"layers" is 2\.5; expected \{"int":\[2,8\]\}/],
    [say(fine.replace('"a"', '"c"'), fine), /line 1 of its output: "kind" is "c"; expected \["a","b"\]/],
    [say(fine.replace('"a"', `"${'c'.repeat(1e6)}"`), fine), /"kind" is "c{98}; expected \["a","b"\]$/],
    [say(fine, fine.replace('{', '{"size": 1, ')), /"size" is 1; expected no such parameter/],
    [
      'import sys\n\nsys.exit(undefined)',
      /^next\.py:3 exit code 1: NameError: name 'undefined' is not defined$/,
    ],
    ['import sys; sys.exit("no more")', /^next\.py: exit code 1: no more$/],
  ] as const) {
    await writeFile(file, text);
    const asking = askSampler(await loadPlan(harness.folder), 2, [], {});
    if (expected === undefined) assert.equal((await asking)?.length, 2);
    else await assert.rejects(asking, { kind: 'file-invalid', message: expected, about: file }, text);
  }
  const refused = await harness.updraft('submit');
  assert.match(refused.err, /next\.py: exit code 1: no more[\s\S]*updraft docs search/);
  assert.deepEqual([refused.code, await harness.runs()], [3, []]);
});

test('a sampler that does not end is ended, with what it has started', async (t) => {
  const harness = await searchHarness(
    t,
    `import os, time
if os.fork() == 0:
    open("part", "w").write(str(os.getpid()))
    os.rename("part", "child")
time.sleep(1000)
`,
  );
  const plan = await loadPlan(harness.folder);
  let child = 0;
  // On a busy machine, Python takes longer to start.
  for (let seconds = 1; child === 0 && seconds < 200; seconds *= 4) {
    await assert.rejects(askSampler(plan, 2, [], { seconds }), {
      message: `next.py took longer than ${seconds} s`,
    });
    child = Number(await readFile(path.join(harness.folder, 'child'), 'utf8').catch(() => 0));
  }
  assert.ok(child > 0);
  await eventually(() => {
    try {
      return !process.kill(child, 0);
    } catch {
      return true;
    }
  });
});
