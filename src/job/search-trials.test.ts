import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec, readSpec } from './read-spec.ts';
import { listJobs } from './expand.ts';
import { makePlan } from './plan.ts';
import { inRounds, judgeRound, withMoreTrials } from './search-trials.ts';
import type { JobState } from '@updraft/account/journal';

const file = (search: string, run = ''): string => `name = "s"
[train]
command = "python3 train.py --lr {lr} --layers {layers}"
outputs = ["model.pt"]
${run}[search]
metric = "val_accuracy"
${search}`;
const ranges = 'ranges = { lr = { log = [1e-5, 0.1] }, layers = { int = [2, 8] } }\n';
const asha = `trials = 9\nepochs = [1, 3, 9]\n${ranges}`;

const planOf = (text: string) => {
  const spec = readSpec(text, 'updraft.toml');
  return makePlan({ spec, jobs: listJobs(spec.run), file: '/f/updraft.toml', folder: '/f', files: [] });
};

test('each trial is a job with its parameters and its rungs', () => {
  const { jobs, planHash } = planOf(file(asha));
  assert.equal(jobs.length, 9);
  const [first] = jobs;
  assert.deepEqual(first?.parameters, { lr: 0.00008627, layers: 4 });
  assert.equal(first.train.command, 'python3 train.py --lr 0.00008627 --layers 4');
  assert.deepEqual(first.rungs, {
    metric: 'val_accuracy',
    isLowerBetter: false,
    unit: 'epochs',
    budgets: [1, 3, 9],
    eta: 3,
  });
  assert.equal(planOf(file(asha)).planHash, planHash);
  assert.notEqual(planOf(file(`seed = 1\n${asha}`)).planHash, planHash);
  const more = planOf(file(asha.replace('9', '20'))).jobs;
  assert.deepEqual(more.slice(0, 9), jobs);
});

test('a training whose command asks for its epochs gets those of the last rung', () => {
  const asking = file(asha).replace('{layers}', '{layers} --epochs {epochs}');
  const [first] = planOf(asking).jobs;
  assert.deepEqual(first?.parameters, { lr: 0.00008627, layers: 4, epochs: 9 });
  assert.equal(first.train.command, 'python3 train.py --lr 0.00008627 --layers 4 --epochs 9');
});

test('the direction is the one that is said, that of [results], or that of the name', () => {
  const isLower = (text: string): boolean | undefined => planOf(text).jobs[0]?.rungs?.isLowerBetter;
  assert.equal(isLower(file(asha).replace('val_accuracy', 'val_loss')), true);
  assert.equal(isLower(file(`direction = "minimize"\n${asha}`)), true);
  assert.equal(isLower(`${file(asha)}[results]\nsmaller_is_better = ["accuracy"]\n`), true);
});

test('a grid has every combination, and a random search no rungs', () => {
  const grid = planOf(file('method = "grid"\nranges = { lr = [0.1, 0.01], layers = { int = [2, 4] } }\n'));
  assert.equal(grid.jobs.length, 6);
  assert.equal(grid.jobs[0]?.rungs, undefined);
  assert.equal(planOf(file(`trials = 4\n${ranges}`)).jobs[0]?.rungs, undefined);
});

test('a round lets the best of its rung go on to the next, by the first report of each, and stops none that has no report', () => {
  const plan = inRounds(planOf(file(asha)));
  assert.deepEqual([plan.jobs[0]?.rungs?.until, plan.planHash], [1, planOf(file(asha)).planHash]);
  const job = (id: string, atRung: number | undefined, ...values: number[]): JobState =>
    ({
      ...{ id, atRung },
      attempts: values.map((value, at) => ({
        ...{ number: at + 1, agent: { training: { rungs: [{ rung: 1, value }] } } },
      })),
    }) as unknown as JobState;
  const waiting = [job('0000', 1, 0.1, 0.9), job('0001', 1, 0.5), job('0002', 1, 0.6), job('0003', 1)];
  // One that failed later has reported, too.
  const { judged, extended } = judgeRound(plan, waiting, [...waiting, job('0004', undefined, 0.2)]);
  assert.deepEqual(
    judged.map(({ job: id, rung, seen, better, goesOn }) => [id, rung, seen, better, goesOn]),
    [
      ['0000', 1, 4, 3, false],
      ['0001', 1, 4, 1, false],
      ['0002', 1, 4, 0, true],
      ['0003', 1, 4, 0, true],
    ],
  );
  assert.deepEqual(
    extended.jobs.slice(2, 5).map(({ rungs }) => rungs?.until),
    [2, 2, 1],
  );
});

test('a trial that is added to a search in rounds ends at its first rung', () => {
  const plan = inRounds(planOf(file(asha)));
  const ahead = plan.jobs.map((one) => ({ ...one, ...(one.rungs && { rungs: { ...one.rungs, until: 3 } }) }));
  const more = withMoreTrials({ ...plan, jobs: ahead }, 9, 1);
  assert.deepEqual([more.jobs[0]?.rungs?.until, more.jobs[9]?.rungs?.until], [3, 1]);
});

const problemsOf = (text: string): string[] => {
  const reading = checkSpec(text, 'updraft.toml');
  return 'problems' in reading ? reading.problems.map(({ key, message }) => `${key}: ${message}`) : [];
};

const refused: [search: string, problem: RegExp, run?: string][] = [
  [
    'trials = 3\nranges = { lr = { log = [0, 1] }, layers = [1] }\n',
    /ranges\.lr: begins at 0, which has no logarithm/,
  ],
  [
    'trials = 3\nranges = { lr = { log = [1, 0.1] }, layers = [1] }\n',
    /ranges\.lr: is no range; expected a list/,
  ],
  ['trials = 3\nranges = { lr = { int = [1, 2.5] }, layers = [1] }\n', /ranges\.lr: is no range/],
  ['trials = 3\nranges = { lr = {}, layers = [1] }\n', /ranges\.lr: is no range/],
  // Nothing else is wrong with them.
  [
    'trials = 3\nranges = { lr = { int = [1, 1] }, layers = [1] }\n',
    /^search\.ranges\.lr: is no range[^\n]*$/,
  ],
  [
    'trials = 3\nranges = { lr = { log = [1e-300, 1e300] }, layers = [1] }\n',
    /^search\.ranges\.lr: is no range[^\n]*$/,
  ],
  [
    'trials = 1\nranges = { lr = [1], layers = [1], index = [1] }\n',
    /^search\.ranges\.index: this name is reserved/,
  ],
  [
    'trials = 3\nranges = { lr = 3, layers = [1] }\n',
    /ranges\.lr: is 3; expected a list of values, or one of/,
  ],
  ['trials = 3\nranges = { lr = [], layers = [1] }\n', /ranges\.lr/],
  ['trials = 1\nranges = { lr = [1, 1], layers = [1] }\n', /ranges\.lr: has a value twice/],
  [
    'trials = 3\nranges = { lr = { uniform = [1.0, 1.0000000000001] }, layers = [1] }\n',
    /ranges\.lr: has ends that differ by \S+ only; expected a wider range/,
  ],
  [
    'trials = 3\nranges = { lr = { uniform = [nan, 1.0] }, layers = [1] }\n',
    /ranges\.lr\S*: is NaN; expected .*a list of values, or one of/,
  ],
  [
    'trials = 3\nranges = { lr = { log = [1.0, inf] }, layers = [1] }\n',
    /ranges\.lr\S*: is Infinity; expected .*a list of values, or one of/,
  ],
  ['trials = 3\nranges = {}\n', /ranges: is empty/],
  [
    'trials = 3\nranges = { lr = [1, 2], layers = [1] }\n',
    /trials: is 3, but the ranges have 2 combinations/,
  ],
  [`trials = 3\nmethod = "asha"\n${ranges}`, /method: "asha" needs its rungs; add them, like epochs/],
  [`trials = 3\nmethod = "random"\nepochs = [1, 2]\n${ranges}`, /epochs: method = "random" stops no trial/],
  [`trials = 3\nepochs = [3, 1]\n${ranges}`, /epochs: needs two or more numbers that rise/],
  [`trials = 3\nepochs = [1, 3]\nsteps = [1, 3]\n${ranges}`, /steps: the rungs are in epochs already/],
  [`method = "grid"\n${ranges}`, /ranges\.lr: has any number of values, and a grid needs a list/],
  ['method = "grid"\nranges = { lr = { int = [1, 1000000] }, layers = [1] }\n', /has 1000000 combinations/],
  [ranges, /search: says not how many trials there are; add trials = 60/],
  [`trials = 3\ntrails = 3\n${ranges}`, /search\.trails: no such key/],
  [asha, /run\.matrix: does not go with \[search\]/, '[run]\nmatrix = { lr = [1] }\n'],
  [asha, /run\.repeat: does not go with \[search\]/, '[run]\nrepeat = 3\n'],
];

for (const [search, problem, run] of refused)
  test(`refused: ${problem.source}`, () => {
    const problems = problemsOf(file(search, run));
    assert.match(problems.join('\n'), problem);
    if (search !== 'trials = 3\nranges = {}\n')
      assert.ok(!problems.join('\n').includes('is not a parameter'), problems.join('\n'));
  });

test('a placeholder that no range has is refused', () => {
  assert.match(
    problemsOf(file('trials = 3\nranges = { lr = { uniform = [0, 1] } }\n')).join('\n'),
    /\{layers\} is not a/,
  );
});
