import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import { requestStop, readRunState } from '../../src/run/run-states.ts';
import * as check from '../../src/cli/commands/check.ts';
import * as why from '../../src/cli/commands/why.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, limitIdle, onlyJob } from './condor-harness.ts';

const waiting = `
name = "waiting"
[train]
command = "sleep 600"
outputs = ["out.txt"]
[run]
pool = "condor"
jobs = 2
`;

test('jobs removed by hand are stopped, with the reason given', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': waiting });
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.until(run, ({ tally }) => tally.running === 2);
  await harness.tool(
    'condor_rm',
    '-reason',
    'wrong data',
    '-constraint',
    `UpdraftRun == "${path.basename(run)}"`,
  );
  const { jobs } = await harness.finish(run);
  for (const job of jobs) {
    assert.equal(job.outcome, 'removed');
    assert.match(job.attempts.at(-1)?.fault?.message ?? '', /wrong data/);
  }
});

test('stopping a run also stops its jobs that are not in the queue yet', async (t) => {
  const nowhere = `jobs = 40\nrequirements = 'TARGET.Machine == "none"'`;
  const text = waiting.replace('jobs = 2', nowhere);
  const harness = await condorHarness(t, { ...limitIdle(30), 'updraft.toml': text });
  if (harness === undefined) return;
  const run = await harness.submit();
  const constraint = `UpdraftRun == "${path.basename(run)}"`;
  const queued = await harness.tool('condor_q', '-constraint', constraint, '-af', 'ProcId');
  assert.ok(queued.split('\n').length <= 30, queued);
  const before = await readRunState(run);
  assert.deepEqual([before.tally.waiting, before.trouble], [40, undefined]);
  await assert.rejects(
    harness.pool.stop(run, ['0001', '0039']),
    /cannot remove single jobs before they are in the queue: 0039/,
  );

  const stopping = await requestStop(run, before, [], systemClock);
  await harness.pool.stop(run, stopping);
  const { tally, endedAt } = await harness.until(run, (state) => state.endedAt !== undefined);
  assert.deepEqual([tally.removed, endedAt === undefined], [40, false]);
  const { out } = await runCommand(why, [run, '39'], { cwd: run });
  assert.match(out, /^0039 removed: it was removed while it waited to be queued$/m);
  await harness.untilQueue('', constraint, 'ProcId');
});

test('a job held by hand is shown as held with the reason, and continues when it is released', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': waiting.replace('sleep 600', 'echo 1 > out.txt').replace('jobs = 2', 'jobs = 1'),
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
  await harness.tool('condor_hold', '-reason', 'not today', ...mine);
  const held = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
  assert.match(held.held?.message ?? '', /not today/);
  assert.equal(held.status, 'waiting');
  await harness.tool('condor_release', ...mine);
  const job = onlyJob(await harness.finish(run));
  assert.deepEqual([job.outcome, job.held], ['success', undefined]);
});

const campus = `
title = "the campus pool"
like = "mini"
advice = ["GPUs are free at night"]

[limits]
file = "1 MB"

[durations]
attribute = "CampusLength"
classes = [
  { name = "day", within = "12h" },
  { name = "week", within = "7d" },
]

[submit]
attributes = { CampusUser = "true" }
`;

test('a pool that only a file describes: check has its limits and advice, jobs its attributes', async (t) => {
  const file = `${waiting.replace('jobs = 2', 'jobs = 1')}profile = "campus"\n[resources]\ntime = "13h"\n`;
  const files = { '.config/updraft/pools/campus.toml': campus, 'updraft.toml': file };
  const harness = await condorHarness(t, files);
  if (harness === undefined) return;
  const { out } = await runCommand(check, [], { env: harness.env, cwd: harness.folder });
  assert.match(out, /the campus pool: GPUs are free at night/);
  const run = await harness.submit();
  const constraint = `UpdraftRun == "${path.basename(run)}"`;
  assert.deepEqual(await harness.ask(constraint, 'CampusLength', 'CampusUser'), ['week true']);
  await harness.tool('condor_rm', '-constraint', constraint);
  await harness.finish(run);
});
