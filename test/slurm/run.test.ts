import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { JobState, RunState } from '@updraft/account/journal';
import { project, slurmHarness } from './slurm-harness.ts';

/** Sets n to the number of earlier tries of this job. */
const counting = 'n=$(cat "$MARKS/$1" 2> /dev/null || echo 0); echo $((n + 1)) > "$MARKS/$1"';

const outcomes = ({ jobs }: RunState): (string | undefined)[] => jobs.map(({ outcome }) => outcome);
const triesOf = ({ attempts }: JobState): unknown[] =>
  attempts.map(({ ending, fault }) => (ending === 'success' ? ending : fault?.kind));
const hosts = ({ attempts }: JobState): (string | undefined)[] => attempts.map(({ pool }) => pool?.host);

test('the jobs of a run are one array, and their results, logs and journals are in its folder', async (t) => {
  const harness = await slurmHarness(
    t,
    project('echo "hello from $1"; echo "$1" > model.pt', { run: 'jobs = 3\nproject = "physics"' }),
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const state = await harness.finish(run);
  assert.deepEqual(outcomes(state), ['success', 'success', 'success']);
  assert.equal(await readFile(path.join(run, 'results/0002/model.pt'), 'utf8'), '2\n');
  const shown = await harness.tool(
    'squeue',
    '-h',
    '-a',
    '-t',
    'all',
    '--name',
    path.basename(run),
    '-o',
    '%F %a',
  );
  assert.match(shown, /^(\d+) physics(\n\1 physics){2}$/);
  const logs = await harness.updraft('logs', path.basename(run), '1');
  assert.equal(logs.out, 'hello from 1\n');
  const report = await harness.updraft('report', path.basename(run));
  assert.match(report.out, /success +3 \(100\.0 %\)/);
  assert.deepEqual(await readdir(harness.scratch), []);
});

test('jobs recover without a watcher: elsewhere, with more memory, after an eviction', async (t) => {
  const train = [
    counting,
    'case $1-$n in',
    '  0-0) echo MemoryError >&2; exit 1 ;;',
    '  1-0) sleep 1000 ;;',
    '  2-0) touch "$MARKS/running"; while :; do echo on; sleep 0.2; done ;;',
    '  3-*) exit 3 ;;',
    'esac',
    'echo "$SLURM_MEM_PER_NODE" > model.pt',
  ].join('\n');
  const harness = await slurmHarness(t, project(train, { run: 'jobs = 4', train: 'quiet_limit = "10s"' }));
  if (harness === undefined) return;
  await markIn(harness.folder);
  const run = await harness.submit();
  await harness.until(run, ({ jobs }) => jobs[2]?.attempts[0]?.agent?.phase === 'training');
  await harness.pool.evict(run, '0002');
  const { jobs } = await harness.finish(run);
  assert.deepEqual(jobs.map(triesOf), [
    ['memory-exceeded', 'success'],
    ['training-hung', 'success'],
    ['evicted', 'success'],
    ['training-failed'],
  ]);
  const memory = await readFile(path.join(run, 'results/0000/model.pt'), 'utf8');
  assert.equal(Number(memory), 2 * Math.ceil(1e9 / 2 ** 20));
  const [first, second] = hosts(jobs[1]!);
  assert.notEqual(first, second);
});

test('cancelled jobs are stopped, whether they run, wait or are held; a retry makes a new array', async (t) => {
  const train = `${counting}\n[ "$n" -gt 0 ] || while :; do echo on; sleep 0.2; done\necho 1 > model.pt`;
  const harness = await slurmHarness(t, project(train, { run: 'jobs = 3', resources: 'cpus = 8' }));
  if (harness === undefined) return;
  await markIn(harness.folder);
  const run = await harness.submit();
  const name = path.basename(run);
  await harness.until(run, ({ jobs }) => jobs.filter(({ status }) => status === 'running').length === 2);
  const array = await harness
    .tool('squeue', '-h', '-r', '--name', name, '-o', '%F')
    .then((text) => text.split('\n')[0]!);
  await harness.tool('scontrol', 'uhold', `${array}_2`);
  assert.match((await harness.updraft('status', name)).out, /^0002 .*Slurm holds it: JobHeldUser/m);
  await harness.tool('scancel', `${array}_1`);
  const stop = await harness.updraft('stop', name, '--yes');
  assert.equal(stop.code, 0, stop.err);
  assert.match(stop.out, /^stopped . jobs? of .* \(1 of them held\).*; none is left in the queue$/m);
  const state = await harness.finish(run);
  assert.deepEqual(outcomes(state), ['removed', 'removed', 'removed']);
  assert.equal(state.jobs[2]?.held, undefined);
  assert.equal(await harness.tool('squeue', '-h', '--name', name, '-t', 'PD,R'), '');
  const retry = await harness.updraft('retry', name, '0', '--yes', '--memory', '1500 MB');
  assert.equal(retry.code, 0, retry.err);
  const again = await harness.until(run, ({ jobs }) => jobs[0]?.outcome === 'success');
  assert.deepEqual(
    again.jobs.map(({ attempts }) => attempts.length),
    [2, 1, 0],
  );
  assert.match(
    await readFile(path.join(run, 'rounds/2/job.sbatch'), 'utf8'),
    /--array=0\n.*\n.*\n(?:.*\n)*#SBATCH --mem=1431M/,
  );
});

test('a submission whose answer was lost is found again, by its name or by its own jobs', async (t) => {
  const harness = await slurmHarness(
    t,
    project('while [ ! -e "$MARKS/go" ]; do sleep 0.2; done; echo 1 > model.pt'),
  );
  if (harness === undefined) return;
  await markIn(harness.folder);
  const run = await harness.submit();
  const arrays = (): Promise<string> =>
    harness.tool('squeue', '-h', '-a', '-t', 'all', '--name', path.basename(run), '-o', '%F');
  const before = await arrays();
  await harness.until(run, ({ jobs }) => jobs[0]?.status === 'running');
  const journal = path.join(run, 'journal.jsonl');
  for (const isReported of [true, false]) {
    const lines = (await readFile(journal, 'utf8')).split('\n');
    await writeFile(journal, lines.filter((line) => !line.includes('"submitted"')).join('\n'));
    if (!isReported) await rm(path.join(run, 'slurm/arrays'), { recursive: true });
    await harness.pool.submit(run);
    assert.match(await readFile(journal, 'utf8'), new RegExp(`"kind":"submitted","cluster":${before}\\b`));
    assert.equal(await arrays(), before);
  }
  await writeFile(path.join(harness.folder, 'marks/go'), '');
  assert.deepEqual(outcomes(await harness.finish(run)), ['success']);
});

test('a job that Slurm kills for its memory says so, and what to request', async (t) => {
  const train = `python3 -c 'import time; x = bytearray(1500 << 20); time.sleep(600)'`;
  const harness = await slurmHarness(t, project(train));
  if (harness === undefined) return;
  const run = await harness.submit();
  const name = path.basename(run);
  await harness.left(name);
  const status = await harness.updraft('status', name);
  assert.match(status.out, /1 job, 1 failed/);
  const why = await harness.updraft('why', name, '0');
  assert.match(why.out, /more memory than requested[\s\S]*retry --memory/);
});

test("a job that no node can run is refused before it is queued, with the partitions' figures", async (t) => {
  const harness = await slurmHarness(
    t,
    project('', { resources: 'cpus = 9\ntime = "3h"', run: 'partition = "main"' }),
  );
  if (harness === undefined) return;
  const check = await harness.updraft('check');
  assert.equal(check.code, 3);
  assert.match(check.out, /none of the 2 machines[\s\S]*`cpus\s+= 9` 0, `time = "3h"` 0/);
  const submit = await harness.updraft('submit', '--no-check');
  assert.equal(submit.code, 4);
  assert.match(submit.err, /sbatch refused the run: .*(?:time limit|node configuration)/i);
  const doctor = await harness.updraft('doctor');
  assert.match(doctor.out, /^ok {2}Slurm +Slurm \d+\.\S+, partitions main\*, long/m);
});

/** Where trainings count their tries, passed through their environment. */
async function markIn(folder: string): Promise<void> {
  const marks = path.join(folder, 'marks');
  await mkdir(marks);
  const file = path.join(folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(
    file,
    text.replace('[resources]', `env = { MARKS = ${JSON.stringify(marks)} }\n[resources]`),
  );
}
