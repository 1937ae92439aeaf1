import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { mapLimited, systemClock } from '@updraft/base';
import { type JobState, type RunState, stoppedEarly } from '@updraft/account/journal';
import type { Pool } from '../../src/pool/pool.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { mergeResults, parseNoteName } from '../../src/search/rungs.ts';
import { condorHarness } from '../../test/condor/condor-harness.ts';
import { poolRoot } from '../../test/pool.ts';
import { slurmHarness } from '../../test/slurm/slurm-harness.ts';
import { randomNumbers } from './curves.ts';

/**
 * `node bench/search/pools.ts condor|slurm [TRIALS [SEEDS [KEEP]]]`: a search with the training of examples/search on a
 * real pool of this machine, with a third of its attempts evicted or their agents killed, for each of the seeds, such
 * as 1,2,3; KEEP is a folder for a copy of the runs.
 */
const [name = 'condor', trials = '60', seeds = '1', keep] = process.argv.slice(2);
const example = path.join(import.meta.dirname, '../../examples/search');
const budgets = [1, 3, 9, 27];
const epochs = 27;
const eta = 3;
const points = 1200;
/** Of an epoch, most of which is waiting. */
const epochSeconds = 2;
/** By which its trainings are found among the processes of this machine. */
const mark = randomUUID();

const jobFile = async (seed: number, log: string): Promise<string> =>
  (await readFile(path.join(example, 'updraft.toml'), 'utf8'))
    .replace(/--epochs \d+/, `--epochs ${epochs} --points ${points}`)
    .replace(/^outputs = .*$/m, (line) => `${line}\nenv = { BENCH = "${mark}", LOG = "${log}" }`)
    .replace(/^trials = \d+/m, `trials = ${trials}`)
    .replace(/^epochs = .*$/m, `epochs = ${JSON.stringify(budgets)}`)
    .replace(/^seed = .*$/m, `seed = ${seed}`)
    .replace(/^\[resources\]$/m, `[run]\npool = "${name}"\nattempts = 20\n\n[resources]\ncpus = 4`);

/** The training, which notes each epoch that it begins, and how much of it is done when it leaves. */
const train = (await readFile(path.join(example, 'train.py'), 'utf8'))
  .replace(
    'asked = False',
    `import time
seconds, log = (${epochSeconds}, os.environ["LOG"]) if "LOG" in os.environ else (0, os.devnull)


def note(share):
    with open(log, "a") as file:
        file.write(f"{share}\\n")


asked = False`,
  )
  .replace(/^for epoch in .*$/m, (line) => `${line}\n    began = time.monotonic()\n    note(1)`)
  .replace(
    /^( +)sys\.exit\(85\).*$/m,
    (line, indent: string) => `${indent}note(min(0, (time.monotonic() - began) / seconds - 1))\n${line}`,
  )
  .replace(
    /^ +save\(\)$/m,
    (line) =>
      `    while not asked and time.monotonic() < began + seconds:\n        time.sleep(0.02)\n${line}`,
  );

for (const seed of seeds.split(',').map(Number))
  void test(`${trials} trials on ${name}, seed ${seed}`, { timeout: 3_600_000 }, async (t) => {
    const files = { 'train.py': train, 'updraft.toml': '' };
    const opened = name === 'slurm' ? await slurmHarness(t, files) : await condorHarness(t, files);
    if (opened === undefined) return;
    const place = 'meetingPlace' in opened ? await opened.meetingPlace() : undefined;
    const { here, onWorker } = place ?? { here: opened.folder, onWorker: opened.folder };
    await writeFile(path.join(opened.folder, 'updraft.toml'), await jobFile(seed, `${onWorker}/epochs`));
    const run = await opened.submit();
    const began = systemClock.monotonic();
    const killed = await disturb(run, opened.pool, seed);
    const state = await readRunState(run);
    const took = (systemClock.monotonic() - began) / 1000;
    if (keep !== undefined) await cp(run, path.join(keep, path.basename(run)), { recursive: true });
    const shares = (await readFile(path.join(here, 'epochs'), 'utf8')).trim().split('\n').map(Number);
    const curves = new Map(
      await mapLimited(state.jobs, 2, async (job) => [job.id, await trainAlone(job)] as const),
    );
    await check(t, run, state, curves);
    report(t, state, { killed, seconds: took });
    const all = [...curves.values()].flat();
    const found = state.jobs.flatMap((job) =>
      (curves.get(job.id) ?? []).slice(0, stoppedEarly(job)?.at ?? epochs),
    );
    const used = shares.reduce((sum, share) => sum + share, 0);
    t.diagnostic(
      `seed ${seed}: ${used.toFixed(0)} of ${all.length} epochs, ${(used / all.length).toFixed(3)}; best ` +
        `${Math.max(...found)} of ${Math.max(...all)}, ${(100 * (1 - Math.max(...found) / Math.max(...all))).toFixed(1)} % behind`,
    );
  });

/** Evicts and kills at random until the run has ended, as often as a third of the attempts. */
async function disturb(run: string, pool: Pool, seed: number): Promise<number> {
  const random = randomNumbers(seed + 6);
  let [disturbed, killed] = [0, 0];
  for (;;) {
    await pool.refresh?.(run);
    const { jobs, endedAt } = await readRunState(run);
    if (endedAt !== undefined) return killed;
    const started = jobs.reduce((sum, { attempts }) => sum + attempts.length, 0);
    // On HTCondor, what an attempt does is known only once it has ended.
    const running = jobs.filter(({ status }) => status === 'running');
    const order = new Map(running.map(({ id }) => [id, random()]));
    const chosen = [...order].sort(([, one], [, other]) => one - other).map(([id]) => id);
    const now = chosen.slice(0, Math.max(0, Math.floor(started / 2) - disturbed));
    disturbed += now.length;
    await Promise.all(
      now.map(async (id) => {
        if (random() < 0.4 && (await killAgent(id))) killed += 1;
        else await pool.evict(run, id).catch(() => undefined);
      }),
    );
    await systemClock.sleep(300);
  }
}

/** Kills the agent of the job, as a machine that runs out of memory does: the parent of the first process with its marks. */
async function killAgent(job: string): Promise<boolean> {
  const hasMarks = async (pid: string): Promise<boolean> => {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    return environment.includes(`BENCH=${mark}\0`) && environment.includes(`UPDRAFT_JOB=${job}\0`);
  };
  for (const pid of (await readdir('/proc')).filter((one) => /^\d+$/.test(one))) {
    if (!(await hasMarks(pid))) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const parent = /^PPid:\s+(\d+)/m.exec(status)?.[1] ?? '';
    const words = await readFile(`/proc/${parent}/cmdline`, 'utf8').catch(() => '');
    if ((await hasMarks(parent)) || !words.includes('agent')) continue;
    process.kill(Number(parent), 'SIGKILL');
    return true;
  }
  return false;
}

/** Every trial is counted once at each rung that it has reached, with what an undisturbed training of it measures. */
async function check(
  t: TestContext,
  run: string,
  { jobs }: RunState,
  curves: ReadonlyMap<string, number[]>,
): Promise<void> {
  assert.deepEqual(
    jobs.filter(({ outcome }) => outcome !== 'success').map(({ id, outcome }) => [id, outcome]),
    [],
  );
  const tables = await Promise.all(
    budgets.map(async (_, rung) => {
      const notes = await readdir(path.join(run, 'notes', `rung-${rung + 1}`)).catch(() => []);
      return mergeResults(notes.flatMap(parseNoteName));
    }),
  );
  let differing = 0;
  for (const job of jobs) {
    const alone = curves.get(job.id) ?? [];
    const reports = job.attempts.flatMap(({ agent }) => agent?.training?.rungs ?? []);
    const last = tables.findLastIndex((table) => table.has(job.id));
    for (const [rung, table] of tables.entries()) {
      assert.equal(table.has(job.id), rung <= last, `${job.id} at rung ${rung + 1}`);
      if (rung > last) continue;
      const own = reports.filter((one) => one.rung === rung + 1).map(({ value }) => value);
      assert.deepEqual(new Set(own), new Set([table.get(job.id)]), `${job.id} at rung ${rung + 1}`);
      if (alone[(budgets[rung] ?? 0) - 1] !== table.get(job.id)) differing += 1;
    }
    for (const { seen, better, goesOn, rung } of reports)
      assert.equal(goesOn, rung === budgets.length || better < Math.max(1, Math.floor(seen / eta)), job.id);
    const stop = stoppedEarly(job);
    assert.equal(
      stop === undefined,
      last === budgets.length - 1,
      `${job.id} ended elsewhere than at its last rung`,
    );
  }
  t.diagnostic(`values that an undisturbed training of the trial has not: ${differing}`);
  assert.equal(differing, 0);
}

/** What the trial's training measures after each epoch, if nobody disturbs it. */
async function trainAlone({ parameters = {} }: JobState): Promise<number[]> {
  const words = ['lr', 'momentum', 'width'].flatMap((one) => [`--${one}`, String(parameters[one])]);
  const args = [...words, '--points', String(points), '--epochs', String(epochs)];
  // By the Python of the pool: another one rounds otherwise, and so learns otherwise.
  const root = await poolRoot();
  if (!('folder' in root)) throw new Error(root.lacks);
  const inFolder = 'cd "$(mktemp -d)" && exec python3 - "$@"';
  const child = promisify(execFile)('chroot', [root.folder, '/bin/sh', '-c', inFolder, 'sh', ...args]);
  child.child.stdin?.end(train);
  const { stdout } = await child;
  return [...stdout.matchAll(/val_accuracy (\S+)/g)].map(([, value]) => Number(value));
}

function report(
  t: TestContext,
  { jobs }: RunState,
  { killed, seconds }: { killed: number; seconds: number },
): void {
  const attempts = jobs.flatMap((job) => job.attempts);
  const ended = attempts.filter(({ ending }) => ending === 'success').length;
  const whole = jobs.filter((job) => stoppedEarly(job) === undefined).length;
  t.diagnostic(
    `${jobs.length} trials in ${Math.round(seconds)} s: ${whole} whole, ${jobs.length - whole} stopped early`,
  );
  t.diagnostic(
    `${attempts.length} attempts, of which ${attempts.length - ended} ended otherwise; ${killed} agents killed`,
  );
  const reached = budgets.map(
    (_, rung) =>
      jobs.filter((job) =>
        job.attempts.some(({ agent }) => agent?.training?.rungs?.some((one) => one.rung === rung + 1)),
      ).length,
  );
  t.diagnostic(`trials at the rungs: ${reached.join(', ')}; 0 lost, 0 counted twice`);
}
