import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import * as status from '../../src/cli/commands/status.ts';
import * as why from '../../src/cli/commands/why.ts';
import { readJournal, type RunState } from '@updraft/account/journal';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, onlyJob } from '../condor/condor-harness.ts';
import { RunHarness } from '../run/run-harness.ts';

const onPool = (command: string, resources: string): string => `
name = "first-day"
[train]
command = ${JSON.stringify(command)}
outputs = ["model.pt"]
[resources]
${resources}
[run]
pool = "condor"
attempts = 1
`;

test("an absolute path of this machine fails on the mini pool's workers", async (t) => {
  const harness = await condorHarness(t, { 'train.sh': 'echo 1 > model.pt\n' });
  if (harness === undefined) return;
  const script = path.join(harness.folder, 'train.sh');
  await writeFile(path.join(harness.folder, 'updraft.toml'), onPool(`sh ${script}`, 'memory = "500 MB"'));
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'failed');
  const { out } = await runCommand(why, [run, '0'], { cwd: harness.folder, env: harness.env });
  assert.match(out, /train\.sh.*(No such file|cannot open)/i);
});

test('a memory request that is too small is held on the mini pool, and why gives the figure', async (t) => {
  const command = 'python3 -c "import time; held = bytearray(450_000_000); time.sleep(600)"';
  // The limit is the slot's memory: not one that the schedd reuses, made for another test's larger request.
  const ownSlot = 'requirements = "TARGET.PartitionableSlot || TARGET.Memory < 400"';
  const file = `${onPool(command, 'memory = "200 MB"')}${ownSlot}\n`;
  const harness = await condorHarness(t, { 'updraft.toml': file });
  if (harness === undefined) return;
  const run = await harness.submit();
  const job = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
  assert.match(job.held?.message ?? '', /memory usage exceeded request_memory/, JSON.stringify(job));
  const { out } = await runCommand(why, [run, '0'], { cwd: harness.folder, env: harness.env });
  const [, asked] = /Request at least (\d+) MB/.exec(out) ?? [];
  // It may be held while it still grows.
  assert.ok(Number(asked) > 200, out);
});

/** As a training whose data loaders are forks: five processes with the same 100 MB. */
const sharing = `import mmap, os, time
held = mmap.mmap(-1, 100 << 20)
held.write(b"x" * len(held))
for _ in range(4):
    if os.fork() == 0: break
sum(held[at] for at in range(0, len(held), 4096))
time.sleep(8)
`;

test('memory that processes share counts once, and a job cannot submit jobs', async (t) => {
  const submit = 'CONDOR_CONFIG=/pool/condor_config condor_submit -name researcher@localhost';
  const files = { 'share.py': sharing, 'x.sub': 'executable = /bin/true\ninitialdir = /tmp\nqueue\n' };
  const command = `python3 share.py && ! ${submit} x.sub > model.pt 2>&1`;
  const sent = 'files = ["share.py", "x.sub"]\n[resources]';
  const job = onPool(command, 'memory = "300 MB"').replace('[resources]', sent);
  const harness = await condorHarness(t, { ...files, 'updraft.toml': job });
  if (harness === undefined) return;
  const run = await harness.submit();
  const ends = ({ endedAt, jobs }: RunState): boolean => endedAt !== undefined || jobs[0]?.held !== undefined;
  const { outcome, held } = onlyJob(await harness.until(run, ends));
  assert.deepEqual([outcome, held], ['success', undefined]);
  const said = await readFile(path.join(run, 'results/0000/model.pt'), 'utf8');
  assert.match(said, /Failed to authenticate using FS/);
});

const epochs = (seconds: number): string =>
  `i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo "epoch $i/5000 loss 0.5"; sleep ${seconds}; done; echo 1 > model.pt`;

test('a time that is too short, without a checkpoint', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(epochs(0.2), '', '[resources]\ncpus = 1\nmemory = "100 MB"\ntime = "6s"');
  const { code, out } = await harness.updraft('run');
  assert.equal(code, 1, out);
  // Before the limit, with the figure to write; a second attempt would be as long.
  assert.match(out, /needs \d+\S+, limit 6s: write time = "\d+[mh]\S*"/);
  assert.doesNotMatch(out, /try 2/);
  const [run = ''] = await harness.runs();
  const explained = await harness.updraft('why', path.basename(run), '0');
  assert.match(explained.out, /[Ww]rite `time = "\d+[mh]\S*"` in \[resources\] \(at its pace it needs \d+/);
});

test('an agent that was stopped by a signal is not shown as training towards its end', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(epochs(0.2));
  assert.equal((await harness.updraft('submit')).code, 0);
  const [run = ''] = await harness.runs();
  await harness.until(run, ({ jobs }) => (jobs[0]?.attempts[0]?.agent?.training?.epoch ?? 0) > 2);
  const journal = path.join(run, 'jobs/0000/attempt-1/agent.jsonl');
  const { entries } = await readJournal(journal);
  const started = entries.find((entry) => entry.kind === 'agent-started');
  assert.ok(started);
  process.kill(started.pid, 'SIGSTOP');
  const lateBy = (lateMs: number) => ({ ...systemClock, now: () => systemClock.now() + lateMs });
  const shown = async (lateMs: number): Promise<string> => {
    const { folder: cwd, env } = harness;
    return (await runCommand(status, [path.basename(run)], { cwd, env, clock: lateBy(lateMs) })).out;
  };
  assert.match(await shown(0), /ETA/);
  const late = await shown(65_000);
  assert.match(late, /no report for 1m\d\ds/);
  assert.doesNotMatch(late, /ETA/);
  const explained = await runCommand(why, [path.basename(run)], {
    cwd: harness.folder,
    env: harness.env,
    clock: lateBy(65_000),
  });
  assert.match(explained.out, /^0000 running: the agent has stopped reporting\n/);
  assert.match(explained.out, /was training when its agent last reported, at \S+ \S+ UTC: 1m\d+s\s+ago/);
  assert.ok(
    explained.out.replaceAll(/\s+/g, ' ').includes(`\`kill -CONT ${started.pid}\` lets it go on`),
    explained.out,
  );
  assert.match(explained.out, /`updraft stop`/);
});

test('a memory request that is too small, on the local pool', async (t) => {
  const harness = await RunHarness.make(t);
  const command = 'python3 -c "import time; held = bytearray(150_000_000); time.sleep(600)"';
  await harness.describe(command, 'attempts = 1', '[resources]\ncpus = 1\nmemory = "60 MB"');
  const { code, out } = await harness.updraft('run');
  assert.equal(code, 1);
  assert.match(out, /the training used [\d.]+ MB of memory, but requested 60 MB/);
  const explained = await harness.updraft('why');
  assert.match(explained.out, /^0000 failed: it used more memory than requested\n/);
  assert.match(explained.out, /fix {2}Write memory = "[\d.]+ MB" in \[resources\]/);
});
