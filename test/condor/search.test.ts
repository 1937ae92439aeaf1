import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { stoppedEarly } from '@updraft/account/journal';
import { tried } from '@updraft/base';
import { cliMain } from '../programs.ts';
import { runNames } from '../run-names.ts';
import { condorHarness } from './condor-harness.ts';

const jobFile = `name = "alone"
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
profile = "mini"
[search]
trials = 3
metric = "val_accuracy"
epochs = [1, 2]
eta = 2
ranges = { lr = { log = [1e-4, 0.1] } }
`;

/** Each epoch begins when the test says so. */
const train = (marks: string): string => `trap 'exit 85' TERM
n=$(cat ckpt/n 2> /dev/null || echo 0)
while [ $n -lt $2 ]; do
  while [ ! -e ${marks}/$1-$n ]; do sleep 0.1; done
  n=$((n + 1)); echo $n > ckpt/n.part; mv ckpt/n.part ckpt/n
  echo "epoch $n val_accuracy 0.$((9 - $1))"
done
echo $n > model.pt
`;

/** What inherited this variable from the command, also after it left its terminal and its parent. */
const processesWith = (mark: string): string[] =>
  readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && tried(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))?.includes(mark),
  );

test('while a search searches, also after an eviction, nothing of it runs on the access point', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': jobFile });
  if (harness === undefined) return;
  const { folder, env, pool } = harness;
  const tool: typeof harness.tool = (...asked) => harness.tool(...asked);
  const until: typeof harness.until = (...asked) => harness.until(...asked);
  const marks = await harness.meetingPlace();
  await writeFile(path.join(folder, 'train.sh'), train(marks.onWorker));
  const go = (name: string): Promise<void> => writeFile(path.join(marks.here, name), '');
  const mark = `UPDRAFT_TEST_MARK=${randomUUID()}`;
  const [name = '', value = ''] = mark.split('=');
  const asUser = { cwd: folder, env: { ...env, [name]: value } };

  const sleeper = spawn('sleep', ['600'], asUser);
  await once(sleeper, 'spawn');
  assert.equal(processesWith(mark).length, 1, 'such a process is found');
  sleeper.kill();
  await once(sleeper, 'exit');

  const [code] = (await once(
    spawn(process.execPath, [cliMain, 'submit'], { ...asUser, stdio: 'ignore' }),
    'exit',
  )) as [number];
  assert.equal(code, 0);
  const run = path.join(folder, 'runs', (await runNames(folder))[0] ?? '');
  t.after(() => tool('condor_rm', '-constraint', `UpdraftRun == "${path.basename(run)}"`).catch(() => ''));
  const alone = async (when: string): Promise<void> => {
    assert.deepEqual(processesWith(mark), [], when);
    // A scheduler or local job, such as DAGMan, would be one, too.
    const universes = await tool('condor_q', '-constraint', 'UpdraftRun =!= undefined', '-af', 'JobUniverse');
    assert.deepEqual([...new Set(universes.split('\n'))], ['5'], when);
  };

  await alone('submitted');
  await until(run, ({ jobs }) => jobs[0]?.status === 'running');
  await pool.evict(run, '0000');
  await go('0-0');
  await until(run, ({ jobs }) => jobs[0]?.attempts.at(-1)?.agent?.training?.rungs?.length === 1);
  await go('1-0');
  await until(run, ({ jobs }) => stoppedEarly(jobs[1]!) !== undefined);
  await alone('the first trial is at its rung, and the second was stopped there');
  await Promise.all(['0-1', '2-0'].map(go));
  const { jobs } = await until(run, ({ endedAt }) => endedAt !== undefined);
  assert.deepEqual(
    jobs.map((job) => [job.outcome, stoppedEarly(job) !== undefined]),
    [
      ['success', false],
      ['success', true],
      ['success', true],
    ],
  );
  assert.deepEqual(processesWith(mark), [], 'ended');
});
