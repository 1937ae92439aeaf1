import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { type RunState, stoppedEarly } from '@updraft/account/journal';
import { systemClock } from '@updraft/base';
import { keepGoing } from '../../src/run/rounds.ts';
import { resumeRun } from '../../src/run/submit-run.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { condorHarness, result } from './condor-harness.ts';

const jobFile = `name = "rounds"
[train]
command = "sh train.sh {index} {epochs}"
files = ["train.sh"]
outputs = ["model.pt"]
checkpoint = "ckpt"
[resources]
cpus = 1
memory = "100 MB"
disk = "64 MB"
[run]
pool = "condor"
profile = "silent"
[search]
trials = 3
metric = "val_accuracy"
epochs = [1, 2]
ranges = { lr = { log = [1e-4, 0.1] } }
`;

/** Resumes, saves each epoch before it reports it, and begins each with a mark of the test. */
const train = (marks: string): string => `trap 'exit 85' TERM
n=$(cat ckpt/n 2> /dev/null || echo 0)
while [ $n -lt $2 ]; do
  echo "$1-$n" >> ${marks}/begun
  while [ ! -e ${marks}/$1-$n ]; do sleep 0.1; done
  n=$((n + 1)); echo $n > ckpt/n.part; mv ckpt/n.part ckpt/n
  echo "epoch $n val_accuracy 0.$((9 - $1))"
done
echo $n > model.pt
`;

const context = { clock: systemClock, pid: process.pid };

test('on a pool without chirp the rungs are rounds, also when slots are lost in them', async (t) => {
  const files = {
    'updraft.toml': jobFile,
    '.config/updraft/pools/silent.toml': 'like = "mini"\nchirp = false\n',
  };
  const harness = await condorHarness(t, files, { config: ['ENABLE_CHIRP = false'] });
  if (harness === undefined) return;
  const { pool } = harness;
  const until: typeof harness.until = (...asked) => harness.until(...asked);
  const marks = await harness.meetingPlace();
  await writeFile(path.join(harness.folder, 'train.sh'), train(marks.onWorker));
  const go = (...names: string[]): Promise<unknown> =>
    Promise.all(names.map((name) => writeFile(path.join(marks.here, name), '')));
  const run = await harness.submit();
  const trains =
    (job: number) =>
    (state: RunState): boolean =>
      state.jobs[job]?.status === 'running';

  await until(run, trains(0));
  await pool.evict(run, '0000');
  await go('0-0', '1-0', '2-0');
  await until(run, ({ jobs }) => jobs.every(({ atRung }) => atRung === 1));
  const first = await readRunState(run);
  const seen = first.jobs.map(({ outcome, attempts }) => [
    outcome,
    attempts.map(({ fault }) => fault?.message),
  ]);
  assert.equal(first.endedAt, undefined, `the next round is to come: ${JSON.stringify(seen)}`);
  assert.deepEqual(await readdir(path.join(run, 'notes')).catch(() => []), []);

  const { how, why } = await resumeRun(run, pool, context);
  assert.deepEqual(
    [how, why],
    ['continued', 'it has not ended; all trials of the round have ended, and 1 more are queued now'],
  );
  const judged = await readRunState(run);
  assert.deepEqual(
    judged.jobs.map((job) => [job.status, stoppedEarly(job)?.better, stoppedEarly(job)?.seen]),
    [
      ['waiting', undefined, undefined],
      ['ended', 1, 3],
      ['ended', 2, 3],
    ],
  );
  assert.match((await resumeRun(run, pool, context)).why, /^it has not ended$/, 'a round is judged once');

  await until(run, trains(0));
  await pool.evict(run, '0000');
  await go('0-1');
  const over = new AbortController();
  const keeping = keepGoing(run, pool, context, over.signal);
  const ended = await until(run, ({ endedAt }) => endedAt !== undefined);
  over.abort();
  await keeping;
  assert.deepEqual(
    ended.jobs.map(({ outcome, attempts }) => [outcome, attempts.length]),
    [
      ['success', 4],
      ['success', 1],
      ['success', 1],
    ],
  );
  assert.equal(ended.rounds, 2);
  assert.equal(await result(run, 'model.pt'), '2\n');
});
