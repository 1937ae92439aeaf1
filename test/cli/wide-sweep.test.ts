import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import * as compare from '../../src/cli/commands/compare.ts';
import * as report from '../../src/cli/commands/report.ts';
import * as results from '../../src/cli/commands/results.ts';
import * as runs from '../../src/cli/commands/runs.ts';
import * as status from '../../src/cli/commands/status.ts';
import { liveView } from '../../src/cli/run-view/watch-run.ts';
import { glyphsFor } from '../../src/cli/text/glyphs.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { growingRun } from '../growing-run.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runCommand } from './run-command.ts';
import { sweptRun } from './swept-run.ts';

const models = [
  'google/electra-small-discriminator',
  'microsoft/deberta-v3-small',
  'timm-efficientnet-b4-noisy-student',
  'timm-efficientnet-b4-imagenet',
];
const archive = 'osdf:///ospool/ap40/data/ann/glue/glue-mrpc-tokenized.tar';
const command = '{model_name_or_path} {learning_rate} {seed} {dataset_archive}';
const jobFile = `name = "sweep"
[train]
command = "t ${command}"
outputs = ["m"]
[run.matrix]
dataset_archive = ["${archive}"]
model_name_or_path = ${JSON.stringify(models)}
learning_rate = [0.00001, 0.0001]
seed = [42, 20260101]
`;

/** A sweep as strangers write them: long names, a long value that is the same in all jobs, several metrics. */
async function wideSweep(t: TestContext): Promise<{ cwd: string; folder: string }> {
  return sweptRun(t, jobFile, (at) => ({
    ...{ epoch: 3, epochs: 3, loss: 0.5, accuracy: 0.5 + at / 64 },
    metrics: { matthews_correlation: 0.25 + at / 64, f1: 0.75 },
  }));
}

const onTerminal = (cwd: string, columns = 80) => ({
  cwd,
  columns,
  outIsTerminal: true,
  errIsTerminal: true,
});
const linesOf = (text: string, start: RegExp): string[] =>
  text.split('\n').filter((line) => start.test(line));
/** Only a word that is longer than the page exceeds it. */
function assertFits(text: string, columns: number): void {
  for (const line of text.split('\n')) assert.ok(line.length <= columns || line.includes(archive), line);
}

test('on 60 and 80 columns results show what they are sorted by, and name what they leave out', async (t) => {
  const { cwd } = await wideSweep(t);
  for (const columns of [60, 80]) {
    const words = ['--sort', '-accuracy', '--top', '5'];
    const { out, err } = await runCommand(results, words, onTerminal(cwd, columns));
    assert.match(out, /\n  job .* accuracy +outcome/);
    assert.match(out, /\n  0015 .* 0\.7344 +success/);
    assert.match(out, new RegExp(`Same in all:\\s+dataset_archive=${archive}\\.\n`));
    assert.match(out, /Not shown at this width: [^]*tries\. To see\s+all:\s+`--csv`,/);
    assertFits(`${out}${err}`, columns);
  }
});

test('a pipe gets every value of results, status and compare in full', async (t) => {
  const { cwd } = await wideSweep(t);
  for (const one of [results, status, compare]) {
    const { out } = await runCommand(one, [], { cwd });
    assert.doesNotMatch(out, /Not shown/);
    assert.ok(out.includes('0.7344') || one === compare);
  }
  const { out } = await runCommand(results, [], { cwd });
  for (const text of [...models, archive, '20260101']) assert.ok(out.includes(text), text);
  assert.doesNotMatch(out, /…/);
});

test('on 80 columns compare has figures beside names that differ, and repeats its options', async (t) => {
  const { cwd } = await wideSweep(t);
  const options = ['--metric', 'f1', 'matthews_correlation', '--all'];
  const { out, err } = await runCommand(compare, options, onTerminal(cwd));
  assertFits(`${out}${err}`, 80);
  const costs = linesOf(out.split('\n\n')[0] ?? '', / 0\.0000?1 .*\ds$/);
  assert.equal(costs.length, 8, out);
  assert.equal(new Set(costs.map((line) => line.split(/ {2,}/).slice(1, 3).join())).size, 8);
  assert.match(
    err.replaceAll(/ \\\n +/g, ' '),
    /\n {2}updraft compare --metric f1 matthews_correlation --all --latex\n/,
  );
});

test('on 80 columns time side by side has a row for each group', async (t) => {
  const { cwd } = await wideSweep(t);
  const { out } = await runCommand(compare, ['--by', 'model_name_or_path'], onTerminal(cwd));
  const [, side = ''] = out.split('Where the time on slots went, per job\n');
  assert.equal(linesOf(side, /^ {2}(?:google|micro|timm)\S* .*\ds$/).length, models.length);
});

test('on 60 and 80 columns status and watch list all jobs, status by different names', async (t) => {
  const { cwd, folder } = await wideSweep(t);
  const state = await readRunState(folder);
  for (const columns of [60, 80]) {
    const { out } = await runCommand(status, [], onTerminal(cwd, columns));
    const glyphs = glyphsFor({});
    const screen = liveView(state, { columns, rows: 60, now: 0, color: false, glyphs, hint: '' }).join('\n');
    assertFits(`${out}\n${screen}`, columns);
    assert.match(out, /Not shown at this width: [^]*F1\.\sTo\s+see/);
    for (const text of [out, screen]) {
      const names = linesOf(text, /^\d{4} /).map((line) =>
        line.slice(5).replace(/ +1 +success.*| {2}.*/, ''),
      );
      assert.equal(names.length, 16);
      if (text === out) assert.equal(new Set(names).size, 16, names.join('\n'));
    }
  }
});

test('a report with --jobs has the table of results', async (t) => {
  const { cwd } = await wideSweep(t);
  const { out } = await runCommand(report, ['--jobs'], { cwd });
  assert.match(out, /\nResults\n {2}job +model_name_or_path +learning_rate +seed +outcome .*f1.*\n {2}0000 /);
});

test('the note of a comparison offers only options that were not given', async (t) => {
  const { cwd } = await wideSweep(t);
  const noteOf = async (...args: string[]): Promise<string> =>
    (await runCommand(compare, args, onTerminal(cwd, 40))).out.replaceAll(/\s+/g, ' ');
  assert.match(await noteOf(), /To see all: `--by PARAMETER`, `--csv`, a wider/);
  assert.match(await noteOf('--by', 'seed'), /To see all: `--csv`, a wider/);
});

test('the next commands of a report repeat its options', async (t) => {
  const { cwd } = await wideSweep(t);
  const { err } = await runCommand(report, ['--jobs', '--all'], { cwd });
  assert.match(err, /updraft report sweep-k3v9q1 --jobs --all --html report\.html /);
});

test('a list of runs has their whole names on any terminal', async (t) => {
  const cwd = await temporaryFolder(t);
  const name = 'segmentation-benchmark-of-many-encoders-k3v9q1';
  const growing = await growingRun(t, cwd, ['0000'], name);
  await growing.succeed('0000');
  const { out } = await runCommand(runs, [], onTerminal(cwd, 60));
  assert.match(
    out,
    new RegExp(`^RUN +STATE\n${name} +success\n\nNot shown at this width: POOL, JOBS, STARTED\\.`),
  );
});
