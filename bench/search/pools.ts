import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
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
 * `node bench/search/pools.ts condor|slurm [TRIALS [KEEP]]`: the search of examples/search on a real pool of this
 * machine, with a third of its attempts evicted or their agents killed; KEEP is a folder for a copy of the run.
 */
const [name = 'condor', trials = '60', keep] = process.argv.slice(2);
const example = path.join(import.meta.dirname, '../../examples/search');
const budgets = [1, 3, 9];
const eta = 3;
const points = 5000;
/** By which its trainings are found among the processes of this machine. */
const mark = randomUUID();

const jobFile = (await readFile(path.join(example, 'updraft.toml'), 'utf8'))
  .replace(/--epochs \d+/, `--epochs ${budgets.at(-1)} --points ${points}`)
  .replace(/^outputs = .*$/m, (line) => `${line}\nenv = { BENCH = "${mark}" }`)
  .replace(/^trials = \d+/m, `trials = ${trials}`)
  .replace(
    /^\[resources\]$/m,
    '[run]\npool = "POOL"\nattempts = 20\n\n[resources]\ncpus = 4'.replace('POOL', name),
  );
const train = await readFile(path.join(example, 'train.py'), 'utf8');
const files = { 'updraft.toml': jobFile, 'train.py': train };

void test(`${trials} trials on ${name}`, { timeout: 3_600_000 }, async (t) => {
  const harness = name === 'slurm' ? await slurmHarness(t, files) : await condorHarness(t, files);
  if (harness === undefined) return;
  const run = await harness.submit();
  const began = systemClock.monotonic();
  const killed = await disturb(run, harness.pool);
  const state = await readRunState(run);
  const seconds = (systemClock.monotonic() - began) / 1000;
  if (keep !== undefined) await cp(run, path.join(keep, path.basename(run)), { recursive: true });
  await check(t, run, state);
  report(t, state, { killed, seconds });
});

/** Evicts and kills at random until the run has ended, as often as a third of the attempts. */
async function disturb(run: string, pool: Pool): Promise<number> {
  const random = randomNumbers(7);
  let [disturbed, killed] = [0, 0];
  for (;;) {
    await pool.refresh?.(run);
    const { jobs, endedAt } = await readRunState(run);
    if (endedAt !== undefined) return killed;
    const started = jobs.reduce((sum, { attempts }) => sum + attempts.length, 0);
    // On HTCondor, what an attempt does is known only once it has ended.
    const running = jobs.filter(({ status }) => status === 'running');
    const chosen = running[Math.floor(random() * running.length)];
    if (chosen !== undefined && disturbed < started / 2) {
      disturbed += 1;
      const isKill = random() < 0.4 && (await killAgent(chosen.id));
      if (isKill) killed += 1;
      else await pool.evict(run, chosen.id).catch(() => undefined);
    }
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
async function check(t: TestContext, run: string, { jobs }: RunState): Promise<void> {
  assert.deepEqual(
    jobs.filter(({ outcome }) => outcome !== 'success').map(({ id, outcome }) => [id, outcome]),
    [],
  );
  const tables = await Promise.all(
    budgets.map(async (_, rung) => {
      const notes = await readdir(path.join(run, 'notes', `rung-${rung + 1}`));
      return mergeResults(notes.flatMap(parseNoteName));
    }),
  );
  const again = jobs.filter(({ attempts }) => attempts.length > 1);
  const undisturbed = new Map(
    await mapLimited(again, 2, async (job) => [job.id, await trainAlone(job, tables)] as const),
  );
  let differing = 0;
  for (const job of jobs) {
    const alone = undisturbed.get(job.id);
    const reports = job.attempts.flatMap(({ agent }) => agent?.training?.rungs ?? []);
    const last = tables.findLastIndex((table) => table.has(job.id));
    for (const [rung, table] of tables.entries()) {
      assert.equal(table.has(job.id), rung <= last, `${job.id} at rung ${rung + 1}`);
      if (rung > last) continue;
      const own = reports.filter((one) => one.rung === rung + 1).map(({ value }) => value);
      assert.deepEqual(new Set(own), new Set([table.get(job.id)]), `${job.id} at rung ${rung + 1}`);
      if (alone !== undefined && alone[rung] !== table.get(job.id)) differing += 1;
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

/** What the trial's training measures at the rungs that it has reached, if nobody disturbs it. */
async function trainAlone(
  { id, parameters = {} }: JobState,
  tables: readonly Map<string, number>[],
): Promise<number[]> {
  const reached = budgets.filter((_, rung) => tables[rung]?.has(id));
  const words = ['lr', 'momentum', 'width'].flatMap((one) => [`--${one}`, String(parameters[one])]);
  const args = [...words, '--points', String(points), '--epochs', String(reached.at(-1) ?? 0)];
  // By the Python of the pool: another one rounds otherwise, and so learns otherwise.
  const root = await poolRoot();
  if (!('folder' in root)) throw new Error(root.lacks);
  const inFolder = 'cd "$(mktemp -d)" && exec python3 - "$@"';
  const child = execFileSync('chroot', [root.folder, '/bin/sh', '-c', inFolder, 'sh', ...args], {
    input: train,
  });
  const stdout = child.toString();
  const values = [...stdout.matchAll(/val_accuracy (\S+)/g)].map(([, value]) => Number(value));
  return reached.map((budget) => values[budget - 1] ?? NaN);
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
