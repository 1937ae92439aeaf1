import assert from 'node:assert/strict';
import { appendFile, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import * as runs from '../../src/cli/commands/runs.ts';
import { findRun } from '../../src/cli/find-run.ts';
import { type Fault, kinds } from '@updraft/account/fault';
import { attemptFolder } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import { openJournal } from '@updraft/account/journal';
import { createRun } from '../../src/run/create-run.ts';
import { rehearsalPlan } from '../../src/run/rehearse/rehearse-run.ts';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const jobFile = (jobs: number): string =>
  `name = "net"\n[train]\ncommand = "true"\noutputs = ["model.pt"]\n[run]\npool = "local"\njobs = ${jobs}\n[resources]\ncpus = 1\nmemory = "10 MB"\n`;

/** A run in a project's folder; an ended one has results. */
async function makeRun(folder: string, { at = 0, ended = true, isRehearsal = false } = {}): Promise<string> {
  const plan = await loadPlan(folder);
  const clock = { ...systemClock, now: () => Date.UTC(2026, 0, 1) + at * 60_000 };
  const run = await createRun(isRehearsal ? rehearsalPlan(plan) : plan, {}, '0.0.0', clock);
  await using journal = await openJournal(path.join(run, 'journal.jsonl'), clock);
  const jobs = (isRehearsal ? plan.jobs.slice(0, 1) : plan.jobs).map(({ id }) => id);
  const entries = jobs.flatMap((job) => [
    { kind: 'attempt-started' as const, job, attempt: 1, why: 'first attempt' },
    ...(ended
      ? [
          { kind: 'attempt-ended' as const, job, attempt: 1, outcome: 'success' as const, exit: 0 },
          { kind: 'job-ended' as const, job, outcome: 'success' as const, results: `results/${job}` },
        ]
      : []),
  ]);
  await journal.append(...entries);
  if (ended) await journal.append({ kind: 'run-ended', succeeded: jobs.length, failed: 0 });
  return run;
}

const withResults = async (run: string): Promise<void> => {
  await mkdir(path.join(run, 'results/0000'), { recursive: true });
  await writeFile(path.join(run, 'results/0000/model.pt'), 'weights');
};

async function project(t: TestContext, jobs = 2): Promise<string> {
  return await temporaryFolder(t, { 'updraft.toml': jobFile(jobs) });
}

const refusal = (pattern: RegExp) => (fault: Fault) =>
  kinds[fault.kind].exit === 2 && pattern.test(`${fault.message}\n${fault.fix ?? ''}`);

test('runs lists every run, the latest first, and marks rehearsals', async (t) => {
  const cwd = await project(t);
  const [old, current, rehearsal] = [
    await makeRun(cwd),
    await makeRun(cwd, { at: 1, ended: false }),
    await makeRun(cwd, { at: 2, isRehearsal: true }),
  ].map((folder) => path.basename(folder));
  const clock = { ...systemClock, now: () => Date.UTC(2026, 0, 1, 2) };
  const { out } = await runCommand(runs, [], { cwd, clock });
  const rows = out
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
  assert.deepEqual(rows, [
    ['RUN', 'POOL', 'STATE', 'JOBS', 'STARTED', 'NOTE'],
    [rehearsal, 'local', 'success', '1', '1h58m ago', 'rehearsal'],
    [current, 'local', '2 running', '2', '1h59m ago'],
    [old, 'local', 'success', '2', '2h00m ago'],
  ]);
  // The second listing reads summaries, and sees what changed since.
  await appendFile(
    path.join(cwd, 'runs', old!, 'journal.jsonl'),
    '{"v":1,"t":"2026-01-01T01:00:00.000Z","seq":99,"kind":"round-started","round":2,"jobs":["0000"],"why":""}\n',
  );
  const again = await runCommand(runs, ['--json'], { cwd, clock });
  const listed = JSON.parse(again.out) as { run: string; state: string; isRehearsal: boolean }[];
  assert.deepEqual(
    listed.map(({ run, state, isRehearsal }) => [run, state, isRehearsal]),
    [
      [rehearsal, 'success', true],
      [current, '2 running', false],
      [old, 'waiting', false],
    ],
  );
  // Without a name, commands take the latest run that is no rehearsal.
  assert.equal(path.basename((await findRun(here(cwd), undefined)).folder), current);
  assert.equal(path.basename((await findRun(here(cwd), rehearsal)).folder), rehearsal);
});

const here = (cwd: string) => ({ cwd, err: () => undefined, ask: undefined });

test('a rehearsal is the latest run where there is no other', async (t) => {
  const cwd = await project(t);
  const rehearsal = await makeRun(cwd, { isRehearsal: true });
  assert.equal((await findRun(here(cwd), undefined)).folder, rehearsal);
});

test('runs rm asks, and removes ended runs of the runs folder only', async (t) => {
  const cwd = await project(t);
  const [ended, running] = [await makeRun(cwd), await makeRun(cwd, { at: 1, ended: false })];
  await withResults(ended);
  const [name, other] = [path.basename(ended), path.basename(running)];
  const rm = (...args: string[]) => runCommand(runs, ['rm', ...args], { cwd });
  await assert.rejects(rm(name, other, '--yes'), refusal(/has not ended: 2 jobs .*\nupdraft stop net-/s));
  await assert.rejects(rm(name), refusal(/nothing was deleted\n.*--yes/s));
  await assert.rejects(rm('net', '--yes'), refusal(/no run "net" in .*complete name/s));
  await assert.rejects(rm('..', '--yes'), refusal(/no run "\.\."/));
  const outside = path.join(cwd, 'kept');
  await rename(ended, outside);
  await symlink(outside, ended);
  await assert.rejects(rm(name, '--yes'), refusal(/is a link/));
  await assert.rejects(rm(outside, '--yes'), refusal(/no run/));
  assert.equal(await readFile(path.join(outside, 'results/0000/model.pt'), 'utf8'), 'weights');
  const second = await makeRun(cwd, { at: 2 });
  const no = { cwd, ask: () => Promise.resolve('n') };
  await assert.rejects(runCommand(runs, ['rm', path.basename(second)], no), /nothing was deleted/);
  const said = await rm(`runs/${path.basename(second)}`, '--yes');
  assert.equal(said.out, 'removed 1 run\n');
  assert.deepEqual((await readdir(path.join(cwd, 'runs'))).sort(), [name, other].sort());
});

test('a list of many large runs does not read their attempts', async (t) => {
  const cwd = await project(t, 200);
  const run = await makeRun(cwd);
  // Whoever reads this journal fails.
  const attempt = attemptFolder(run, '0000', 1);
  await mkdir(path.join(attempt, 'agent.jsonl'), { recursive: true });
  const { out } = await runCommand(runs, ['--json'], { cwd });
  assert.equal((JSON.parse(out) as { tally: { success: number } }[])[0]?.tally.success, 200);
});
