import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import * as compare from '../../src/cli/commands/compare.ts';
import * as report from '../../src/cli/commands/report.ts';
import * as results from '../../src/cli/commands/results.ts';
import { runCommand } from './run-command.ts';
import { sweptRun } from './swept-run.ts';

const jobFile = `name = "sweep"
[train]
command = "t {model.optim.lr} {model.optim.decay} {seed}"
outputs = ["m"]
[run]
repeat = 2
[run.matrix]
"model.optim.lr" = [1e-4, 0.1, 1e-2]
"model.optim.decay" = [5e-4, 0.0]
`;
/** In the order of the file, which is neither that of the queue nor that of the values. */
const cells = ['1e-4 5e-4', '1e-4 0.0', '0.1 5e-4', '0.1 0.0', '1e-2 5e-4', '1e-2 0.0'];

const paperSweep = (t: TestContext) =>
  sweptRun(t, jobFile, (at) => ({ epoch: 1, loss: 0.1 + at / 2, accuracy: 0.99 - at / 50 }));

test('tables of a sweep have the order of its job file, in every form', async (t) => {
  const { cwd } = await paperSweep(t);
  const cellsIn = (text: string, pattern: RegExp): string[] =>
    [...text.matchAll(pattern)].map(([, lr, decay]) => `${lr} ${decay}`);
  const inColumns = /^ {2}(\d\S*) +(\S+) +\d/gm;
  const { out } = await runCommand(compare, ['--metric', 'accuracy'], { cwd });
  const [costs = '', accuracies = ''] = out.split('\n\n');
  assert.deepEqual(cellsIn(costs, inColumns), cells);
  assert.deepEqual(cellsIn(accuracies, inColumns), cells);
  const { out: csv } = await runCommand(compare, ['--metric', 'accuracy', '--csv'], { cwd });
  assert.deepEqual(cellsIn(csv, /^.*?lr=(\S+) decay=(\S+?),/gm), cells);
  const { out: latex } = await runCommand(compare, ['--metric', 'accuracy', '--latex'], { cwd });
  assert.deepEqual(cellsIn(latex, /^ {4}(\d\S*) & (\S+) & /gm), [...cells, ...cells, ...cells]);
  const { out: rows } = await runCommand(results, [], { cwd });
  assert.deepEqual(
    cellsIn(rows, /^ {2}\d{4} +(\S+) +(\S+)/gm),
    cells.flatMap((cell) => [cell, cell]),
  );
});

test('comparisons use the short names of parameters, and know both', async (t) => {
  const { cwd } = await paperSweep(t);
  const { out: short } = await runCommand(compare, ['--by', 'lr', '--latex'], { cwd });
  const { out: long } = await runCommand(compare, ['--by', 'model.optim.lr', '--latex'], { cwd });
  assert.equal(short, long);
  assert.match(short, /\\toprule\n {4}lr & jobs & .*\n {4}\\midrule\n {4}1e-4 & 4 & 4 & /);
  const { out } = await runCommand(report, ['--by', 'decay, lr'], { cwd });
  assert.match(out, /\nLost time by decay, lr\n(?:.*\n)?.*decay +lr .*\n {2}\d/);
  assert.doesNotMatch(out, /model\./);
});

test('groups by several things are in groups of the first', async (t) => {
  const { cwd } = await paperSweep(t);
  const groups = ['5e-4', '0.0'].flatMap((decay) => ['1e-4', '0.1', '1e-2'].map((lr) => `${decay} ${lr}`));
  for (const command of [compare, report]) {
    const { out } = await runCommand(command, ['--by', 'decay,lr'], { cwd });
    const rows = [...out.matchAll(/^ {2}(\d\S*) +(\S+) +\d/gm)].map(([, decay, lr]) => `${decay} ${lr}`);
    assert.deepEqual(rows.slice(0, 6), groups);
  }
});

test('a job without data or GPUs has none, which is known', async (t) => {
  const { cwd } = await paperSweep(t);
  for (const by of ['method', 'cache', 'warmth', 'gpu']) {
    const { out } = await runCommand(report, ['--by', by], { cwd });
    assert.match(out, /\n {2}none +12 /, by);
    assert.doesNotMatch(out, /unknown|does not name/);
  }
});

test('intervals of few values stay within what a measure can be', async (t) => {
  const { cwd } = await paperSweep(t);
  const { out } = await runCommand(compare, ['--metric', 'accuracy', 'loss', '--by', 'lr,decay'], { cwd });
  const ends = [...out.matchAll(/ (-?[\d.]+) to ([\d.]+) /g)].map(([, low, high]) => [low, high]);
  const accuracies = ends.slice(0, cells.length);
  assert.ok(accuracies.every(([low, high]) => Number(low) >= 0 && Number(high) <= 1));
  assert.ok(accuracies.some(([, high]) => high === '1'));
  // A loss may be anything.
  assert.ok(ends.slice(cells.length).every(([low]) => Number(low) < 0));
});

test('a table without intervals does not explain them', async (t) => {
  const { cwd } = await paperSweep(t);
  const measured = async (by: string) =>
    (await runCommand(compare, ['--metric', 'accuracy', '--by', by], { cwd })).out;
  assert.match(await measured('lr'), /Intervals are of the median/);
  assert.doesNotMatch(await measured('lr,decay,seed'), /Intervals are/);
});

test('CSV has every interval and p that the text has', async (t) => {
  const { cwd } = await paperSweep(t);
  const rowsOf = async (command: typeof compare) => {
    const { out } = await runCommand(command, ['--by', 'lr', '--csv'], { cwd });
    const [head = [], ...rows] = out
      .trimEnd()
      .split(/\r?\n/)
      .map((line) => line.split(','));
    return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ''])));
  };
  const cost = ['slotSecondsPerValid_low', 'slotSecondsPerValid_high'];
  const time = ['time.interval_low', 'time.interval_high'];
  for (const row of await rowsOf(compare)) for (const name of cost) assert.match(row[name] ?? '', /^\d/);
  for (const row of await rowsOf(report)) {
    for (const name of [...cost, ...time]) assert.match(row[name] ?? '', /^\d/, name);
    assert.ok('time.p' in row);
  }
});
