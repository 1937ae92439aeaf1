import assert from 'node:assert/strict';
import { copyFile, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import * as status from '../../src/cli/commands/status.ts';
import type { RunState } from '@updraft/account/journal';
import { followRunStates, readRunState } from '../../src/run/run-states.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, onlyJob } from './condor-harness.ts';
import { hangMs } from '../hang-limit.ts';

const file = (command: string): Record<string, string> => ({
  'updraft.toml': `
name = "logged"
[train]
command = ${JSON.stringify(command)}
outputs = ["out.txt"]
[run]
pool = "condor"
`,
});

/** Follows the states of a run until one satisfies. */
function states(run: string) {
  const signal = AbortSignal.timeout(hangMs);
  const following = followRunStates(run, { clock: systemClock, signal });
  const until = async (satisfies: (state: RunState) => boolean): Promise<RunState> => {
    for (;;) {
      const { value, done } = await following.next();
      assert.ok(done !== true, 'the run ended first');
      if (satisfies(value)) return value;
    }
  };
  return {
    until,
    [Symbol.asyncDispose]: async () => {
      await following.return();
    },
  };
}

const isTraining = (state: RunState): boolean => onlyJob(state).attempts[0]?.pool?.phase === 'preparing';

test('a log that vanishes, returns or is truncated while a job runs is reported, and earlier events are kept', async (t) => {
  const harness = await condorHarness(t, {});
  if (harness === undefined) return;
  const place = await harness.meetingPlace();
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    file(`until [ -e ${place.onWorker}/go ]; do sleep 0.1; done; echo 1 > out.txt`)['updraft.toml'] ?? '',
  );
  const run = await harness.submit();
  const log = path.join(run, 'events.log');
  await using following = states(run);
  await following.until(isTraining);

  await rename(log, `${log}.away`);
  const gone = await following.until(({ trouble }) => trouble !== undefined);
  assert.match(gone.trouble?.message ?? '', /events\.log is missing: earlier events are kept/);
  assert.match(gone.trouble?.fix ?? '', /condor_q \d+/);
  assert.deepEqual([onlyJob(gone).status, onlyJob(gone).attempts.length], ['running', 1]);

  await rename(`${log}.away`, log);
  const back = await following.until(({ trouble }) => trouble === undefined);
  assert.equal(onlyJob(back).attempts.length, 1);

  await truncate(log, 0);
  await writeFile(path.join(place.here, 'go'), '');
  const ended = await following.until(({ endedAt }) => endedAt !== undefined);
  assert.deepEqual([onlyJob(ended).outcome, onlyJob(ended).attempts.length], ['success', 1]);
  assert.match(ended.trouble?.message ?? '', /was truncated/);
  const later = await readRunState(run);
  assert.match(later.trouble?.message ?? '', /has lost its beginning/);
  assert.equal(onlyJob(later).outcome, 'success');
});

test('a run whose log is missing or another one says so later', async (t) => {
  const harness = await condorHarness(t, file('echo 1 > out.txt'));
  if (harness === undefined) return;
  const run = await harness.submit();
  const whole = await harness.finish(run);
  assert.equal(whole.trouble, undefined);
  const log = path.join(run, 'events.log');
  const text = await readFile(log, 'utf8');
  await rm(log);
  const lost = await readRunState(run);
  assert.match(lost.trouble?.message ?? '', /is missing: the state of the jobs is unknown/);
  assert.equal(onlyJob(lost).isUntold, true);
  const seen = await runCommand(status, [run], { cwd: harness.folder });
  assert.match(seen.out, /: 1 job, 1 unknown\n/);
  assert.match(seen.out, /^0000 .* unknown /m);
  await writeFile(log, text.replace(/^(\d{3}) \(\d+\./gm, '$1 (99999.').replaceAll(path.basename(run), 'x'));
  assert.match((await readRunState(run)).trouble?.message ?? '', /has no events of the run's jobs/);
});

test('a log that is replaced by its copy counts no attempt twice', async (t) => {
  const harness = await condorHarness(t, file('sleep 60'));
  if (harness === undefined) return;
  const run = await harness.submit();
  const log = path.join(run, 'events.log');
  await using following = states(run);
  await following.until(isTraining);
  await copyFile(log, `${log}.copy`);
  await rename(`${log}.copy`, log);
  const replaced = await following.until(({ trouble }) => trouble !== undefined);
  assert.match(replaced.trouble?.message ?? '', /was replaced by another file: earlier events are kept/);
  assert.deepEqual([onlyJob(replaced).status, onlyJob(replaced).attempts.length], ['running', 1]);
});
