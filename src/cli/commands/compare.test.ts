import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { osgLog } from '../../../scripts/osg-log.ts';
import { growingRun } from '../../../test/growing-run.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { runCommand } from '../../../test/cli/run-command.ts';
import type { GroupedReport } from '@updraft/account/report';
import * as compare from './compare.ts';

const invalid = ['--invalid', '794569.4,794569.6,794569.14'];

test('the 100 published jobs cost 9.6 hours on slots per valid model', async (t) => {
  const cwd = await temporaryFolder(t, { 'osg.log': osgLog() });
  const { out } = await runCommand(compare, ['osg.log', '--by', 'log', ...invalid], { cwd });
  assert.match(out, /\n  osg\.log +100 +79 +9\.6 h +[\d.]+ h to [\d.]+ h +9\.6 h +756\.4 h\n/);
});

test('sites are compared, and each difference is said with its p-value', async (t) => {
  const cwd = await temporaryFolder(t, { 'osg.log': osgLog() });
  const { out } = await runCommand(compare, ['osg.log', '--by', 'site', ...invalid], { cwd });
  assert.match(
    out,
    /CHTC-Spark-CE1 is faster than PDX-Coeus-CE1: median 3h35m against 4h53m; more than noise \(p < 0\.001\)\./,
  );
  const { out: json } = await runCommand(compare, ['osg.log', '--by', 'site', '--json', ...invalid], {
    cwd,
  });
  const { completion, measures } = JSON.parse(json) as GroupedReport;
  assert.deepEqual(
    measures.map(({ name, test: how, pairs }) => [name, how?.name, pairs.length]),
    [['time', 'Kruskal–Wallis', 3]],
  );
  // The curve of a site ends at its share of valid attempts: failures stay in the count.
  const [chtc] = completion;
  assert.equal(chtc?.points.at(-1)?.share.toFixed(3), (24 / 142).toFixed(3));
});

test('tables and charts for a paper are complete and escaped', async (t) => {
  const cwd = await temporaryFolder(t, { 'a_1.log': osgLog(), 'b.log': osgLog() });
  const { out: latex } = await runCommand(compare, ['a_1.log', 'b.log', '--latex'], { cwd });
  assert.match(
    latex,
    /\\toprule\n    run & jobs & valid & .* & 95 \\% interval & .* \\\\\n    \\midrule\n    a\\_1\.log & 100 & /,
  );
  assert.equal(latex.match(/\\begin\{tabular\}/g)?.length, latex.match(/\\end\{tabular\}/g)?.length);
  const { out } = await runCommand(compare, ['a_1.log', 'b.log', '--svg', 'charts'], { cwd });
  assert.deepEqual(
    out
      .trimEnd()
      .split('\n')
      .map((file) => path.basename(file)),
    ['completion.svg', 'time.svg'],
  );
  const svg = await readFile(path.join(cwd, 'charts/time.svg'), 'utf8');
  assert.equal(svg.match(/<circle /g)?.length, 158);
  const { out: csv } = await runCommand(compare, ['a_1.log', 'b.log', '--csv'], { cwd });
  assert.equal(csv.trimEnd().split('\n').length, 3);
});

test('what cannot be compared is refused, with what can', async (t) => {
  const cwd = await temporaryFolder(t, { 'osg.log': osgLog() });
  await assert.rejects(runCommand(compare, ['osg.log'], { cwd }), /nothing to compare/);
  await assert.rejects(runCommand(compare, ['osg.log', '--by', 'sites'], { cwd }), /"sites"/);
  await assert.rejects(
    runCommand(compare, ['osg.log', '--by', 'site', '--metric', 'acuracy'], { cwd }),
    /"acuracy"/,
  );
  await assert.rejects(runCommand(compare, ['osg.log', 'osg.log'], { cwd }), /named twice/);
});

test('a run without any valid result is compared by what its failures cost, not by the loss they reported', async (t) => {
  const cwd = await temporaryFolder(t);
  const growing = await growingRun(t, cwd, ['0000']);
  const [job, attempt] = ['0000', 1];
  await growing.run({ kind: 'attempt-started', job, attempt, why: 'first try' });
  await growing.agent(
    job,
    attempt,
    { kind: 'agent-started', version: '1', host: 'node-a', pid: 1, gpus: [] },
    { kind: 'training-started', pid: 2, command: 't' },
    { kind: 'progress', epoch: 1, loss: 0.5 },
    { kind: 'agent-ended', outcome: 'failed', exit: 1 },
  );
  await growing.run({ kind: 'attempt-ended', job, attempt, outcome: 'failed', exit: 1 });
  await growing.run({ kind: 'job-ended', job, outcome: 'failed' });
  const { out } = await runCommand(compare, ['--by', 'machine', '--latex'], { cwd });
  assert.match(out, /node-a & 1 & 0 & - & /);
  assert.doesNotMatch(out, /measure-/);
});
