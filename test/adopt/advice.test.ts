import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as adopt from '../../src/cli/commands/adopt.ts';
import * as why from '../../src/cli/commands/why.ts';
import { runCommand } from '../cli/run-command.ts';
import { accessPoint, job } from './access-point.ts';
import { adviceFor, linesFor, linesIn, withLines } from './advised-lines.ts';
import { hangMs } from '../hang-limit.ts';

test('advised lines end jobs that never work, and the commands of `why` end their holds', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, tool } = here;
  const release = await adviceFor(folder, 'endless-release', [
    ...job('/bin/true', 'b.log'),
    'periodic_release = HoldReasonCode == 13',
    'queue',
  ]);
  const common = await linesFor(folder, 'worth-adding', [...job('/bin/true', 'c.log'), 'queue']);
  const [retries = '', waiting = ''] = common.slice(-2);
  assert.match(waiting, / > 600$/);
  await writeFile(here.at('there.txt'), '');
  const lost = 'transfer_input_files = gone.txt';
  const items = 'transfer_input_files = $(file)\nqueue file from (\nthere.txt\ngone.txt\n)';
  const [released, both, silent] = await Promise.all([
    here.submit('b', [...job('/bin/true', 'b.log'), lost, release, 'queue']),
    // Ten minutes are too long for a test.
    here.submit('c', [...job('/bin/false', 'c.log'), retries, waiting.replace('600', '1'), items]),
    here.submit('d', [...job('/bin/true', 'd.log'), 'transfer_output_files = model.pt', 'queue']),
  ]);

  await Promise.all([here.held('b.log', 5), here.held('c.log', 5), here.held('d.log', 1)]);
  await tool('condor_wait', '-wait', String(hangMs / 1000), 'c.log', `${both}.0`);
  assert.equal(here.attempts('c.log'), 4, retries);
  for (const cluster of [released, both])
    assert.equal(await tool('condor_q', cluster, '-af', 'NumHolds', 'PeriodicRelease'), '5 false');

  assert.equal(await advisedCommand(folder, 'b.log'), `condor_release ${released}.0`);
  await writeFile(here.at('gone.txt'), '');
  assert.match(await tool('condor_q', '-hold', `${released}.0`), /gone\.txt/);
  await tool('condor_release', `${released}.0`);
  await here.ended('b.log');

  assert.equal(await advisedCommand(folder, 'd.log'), `condor_rm ${silent}.0`);
  await tool('condor_rm', `${silent}.0`);
  await here.ended('d.log');
});

test('NumJobStarts does not end releases if the input does not arrive; the advised line does', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, tool } = here;
  const lost = 'transfer_input_files = gone.txt';
  const endless = 'periodic_release = NumJobStarts < 2';
  // An attribute of machines; the same condition with that of jobs.
  const never = 'periodic_release = HoldReasonCode == 13 && (CurrentTime - EnteredCurrentState > 1)';
  const [limit = ''] = await linesFor(folder, 'endless-release', [
    ...job('/bin/true', 'b.log'),
    endless,
    'queue',
  ]);
  const [named = ''] = await linesFor(folder, 'never-true', [...job('/bin/true', 'd.log'), never, 'queue']);
  const [wrong = '', right = '', odd = '', even = ''] = await Promise.all(
    Object.entries({ a: endless, b: limit, c: never, d: named }).map(([name, line]) =>
      here.submit(name, [...job('/bin/true', `${name}.log`), lost, line, 'queue']),
    ),
  );
  await Promise.all([
    here.held('a.log', 7),
    here.held('b.log', 5),
    here.held('c.log', 1),
    here.held('d.log', 5),
  ]);
  const said = (cluster: string, ...names: string[]): Promise<string> =>
    tool('condor_q', cluster, '-af', ...names);
  assert.match(await said(wrong, 'NumJobStarts'), /^(?:0|undefined)$/, 'no attempt counts as a start');
  assert.match(await said(wrong, 'NumShadowStarts >= 7', 'JobRunCount >= 7'), /^true true$/, 'but as these');
  assert.equal(await said(right, 'NumHolds', 'PeriodicRelease'), '5 false');
  assert.equal(await said(even, 'NumHolds', 'PeriodicRelease'), '5 false');
  assert.equal(await said(odd, 'NumHolds', 'PeriodicRelease'), '1 undefined', 'it is never released');
});

test('advised lines of a DAG keep the output of every node, and a FINAL node hides no failure', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, at, tool } = here;
  const same = [...job('/bin/echo', 'nodes.log'), 'arguments = $(JOB)', 'output = out.txt', 'queue'];
  const graph = ['JOB A same.sub', 'JOB B same.sub', 'JOB C fails.sub', 'FINAL F works.sub'];
  const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;
  await writeFile(at('same.sub'), lines(same));
  await writeFile(at('fails.sub'), lines([...job('/bin/false', 'nodes.log'), 'queue']));
  await writeFile(at('works.sub'), lines([...job('/bin/true', 'nodes.log'), 'queue']));
  await writeFile(at('check.sh'), '#!/bin/sh\n[ "$1" = 0 ]\n', { mode: 0o755 });
  await writeFile(at('wrong.dag'), lines(graph));
  const out: string[] = [];
  const keep = (text: string): void => void out.push(text);
  await runCommand(adopt, ['--json', 'wrong.dag'], { cwd: folder, env: {}, out: keep }).catch(
    () => undefined,
  );
  const { findings } = JSON.parse(out.join('')) as { findings: { rule: string; fix: string }[] };
  const fixOf = (rule: string): string => findings.find((one) => one.rule === rule)?.fix ?? '';
  const [output = ''] = linesIn(fixOf('dag-nodes-overwrite'));
  const [script = ''] = /SCRIPT POST F check\.sh \$DAG_STATUS/.exec(fixOf('dag-final-hides-failure')) ?? [];
  const [strict = ''] = /DAGMAN_USE_STRICT = 0/.exec(fixOf('dag-in-tmp')) ?? [];
  await writeFile(at('dag.config'), lines([strict]));
  await writeFile(at('wrong.dag'), lines(['CONFIG dag.config', ...graph]));
  await writeFile(at('own.sub'), lines(withLines(same, [output])));
  const right = ['CONFIG dag.config', ...graph.map((line) => line.replace('same', 'own')), script];
  await writeFile(at('right.dag'), lines(right));
  const run = async (dag: string): Promise<void> => {
    const [, cluster = ''] = /cluster (\d+)/.exec(await tool('condor_submit_dag', `${dag}.dag`)) ?? [];
    t.after(() => tool('condor_rm', cluster).catch(() => undefined));
    await here.ended(`${dag}.dag.dagman.log`);
  };
  await Promise.all(['wrong', 'right'].map(run));
  const status = async (dag: string): Promise<string | undefined> =>
    /return value (\d+)/.exec(await readFile(at(`${dag}.dag.dagman.log`), 'utf8'))?.[1];
  assert.equal(await status('wrong'), '0', 'DAGMan takes the failure for a success');
  assert.notEqual(await status('right'), '0');
  assert.equal(await readFile(at('out.A.txt'), 'utf8'), 'A\n');
  assert.equal(await readFile(at('out.B.txt'), 'utf8'), 'B\n');
});

/** The first command that `why` advises about the jobs of a log. */
async function advisedCommand(folder: string, log: string): Promise<string | undefined> {
  const { out } = await runCommand(why, [log, '--json'], { cwd: folder });
  return /condor_(?:release|rm) [\d.]*\d/.exec(out)?.[0];
}
