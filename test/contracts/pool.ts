import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import { loadPlan } from '../../src/job/load-plan.ts';
import {
  attemptFiles,
  attemptFolder,
  resultsFolder,
  runFiles,
  sandboxFiles,
} from '@updraft/account/run-folder';
import type { Plan } from '../../src/job/plan.ts';
import { poolTraits } from '../../src/job/pool-traits.ts';
import type { PoolName } from '../../src/job/spec.ts';
import { lastRung, type RunState, stoppedEarly } from '@updraft/account/journal';
import { poolKind } from '../../src/pool/open-pool.ts';
import type { Pool } from '../../src/pool/pool.ts';
import { requestStop, readRunState } from '../../src/run/run-states.ts';
import { extendSearch, retryRun, unfinishedJobs } from '../../src/run/rounds.ts';
import { submitRun } from '../../src/run/submit-run.ts';
import type { MeetingPlace } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { untilState } from '../until-state.ts';
import { hangMs } from '../hang-limit.ts';

/** A project in its own folder, and the pool as its user sees it. */
export interface Opened {
  folder: string;
  pool: Pool;
}

/** Skips the test and returns undefined if this machine cannot have such a pool. */
export type OpenPool = (t: TestContext, files: Record<string, string>) => Promise<Opened | undefined>;

const options = { isNew: true, version: '0.0.0', clock: systemClock, pid: process.pid };
const where = (): { file: string; line: number } => ({ file: 'updraft.toml', line: 1 });

/** Job 0 succeeds, job 1 runs until it is evicted, job 2 until it is stopped; when retried, they succeed. */
const train = (marks: string): string =>
  [
    `tries=$(cat "${marks}/$1" 2> /dev/null || echo 0)`,
    `echo $((tries + 1)) > "${marks}/$1"`,
    'echo "hello from $1"',
    'case $1-$tries in [12]-0) while :; do sleep 0.1; done ;; esac',
    'echo "$1" > model.pt',
    '',
  ].join('\n');

const jobFile = [
  'name = "contract"',
  '[train]',
  'command = "sh train.sh {index}"',
  'files = ["train.sh"]',
  'outputs = ["model.pt"]',
  '[resources]',
  'cpus = 1',
  'memory = "1 GB"',
  'disk = "64 MB"',
  '[run]',
  'jobs = 3',
  '',
].join('\n');

const corrected = 'sh train.sh {index} corrected';

/** A folder in which trainings leave marks. */
type Meet = (t: TestContext) => Promise<MeetingPlace | undefined>;

const inTemporaryFolder: Meet = async (t) => {
  const folder = await temporaryFolder(t);
  return { here: folder, onWorker: folder };
};

/** What every pool does, however it is built. */
export function poolContract(name: string, open: OpenPool, meet: Meet = inTemporaryFolder): void {
  test(`${name}: rendering writes nothing, and is the same each time`, async (t) => {
    const opened = await project(t, name, open, meet);
    if (opened === undefined) return;
    const { pool, plan, folder } = opened;
    const before = await readdir(folder);
    const first = await pool.render(plan, 'contract-1');
    assert.deepEqual(await pool.render(plan, 'contract-1'), first);
    assert.deepEqual(await readdir(folder), before);
    assert.notEqual(first.summary, '');
    if (first.shown !== undefined) assert.notEqual(first.files[first.shown] ?? '', '');
    const round = { number: 2, jobs: ['0001'], attemptsBefore: new Map([['0001', 1]]) };
    const { files } = await pool.render(plan, 'contract-1', round);
    for (const [file, text] of Object.entries(files)) {
      assert.ok(!path.isAbsolute(file) && !file.startsWith('..'), file);
      // What all rounds share is unchanged: jobs of the first may still read it.
      if (!file.startsWith('rounds/2/')) assert.equal(text, first.files[file], file);
    }
  });

  test(`${name}: its traits, limits, policy and answers are consistent`, async (t) => {
    const opened = await project(t, name, open, meet);
    if (opened === undefined) return;
    const { pool, plan } = opened;
    const { traits } = pool;
    assert.equal(traits, poolTraits[name as PoolName]);
    assert.equal(traits, poolKind(name)?.traits);
    assert.equal(pool.supervisor !== undefined, traits.supervises);
    assert.ok(traits.runsHere || !traits.supervises, 'a scheduler needs no supervisor');
    assert.ok(
      traits.needsImageHere === traits.sharesFolder,
      'a pool without a shared folder sends the image',
    );
    assert.match(await pool.examine(opened.folder), /\w/);
    const slots = await pool.slots(plan, where);
    assert.equal(slots === undefined, traits.runsHere);
    for (const { meets } of slots?.slots ?? []) assert.equal(meets.length, slots?.conditions.length);
    assert.equal((await pool.policies(plan))[0]?.attempts, plan.spec.run.attempts);
    const limits = await pool.limits(plan);
    if (limits !== undefined) assert.notEqual(limits.title, '');
  });

  test(`${name}: a run is submitted once, watched, evicted, stopped and retried`, async (t) => {
    const opened = await project(t, name, open, meet);
    if (opened === undefined) return;
    const { pool, plan, marks } = opened;
    const { folder: run } = await submitRun(plan, pool, options);
    t.after(() => pool.stop(run, ['0000', '0001', '0002']).catch(() => undefined));
    await Promise.all([pool.submit(run), pool.submit(run)]);

    const trains = ({ jobs }: RunState, index: number): boolean =>
      jobs[index]?.attempts.at(-1)?.agent?.phase === 'training';
    await until(pool, run, (state) => trains(state, 1) && trains(state, 2));
    await printed(pool, run, '0001', 'hello from 1\n');

    await pool.evict(run, '0001');
    await until(pool, run, ({ jobs }) => jobs[0]?.status === 'ended' && jobs[1]?.status === 'ended');
    const stopping = await requestStop(run, await readRunState(run), ['0002'], systemClock);
    await pool.stop(run, stopping);
    const ended = await until(pool, run, ({ endedAt }) => endedAt !== undefined);
    assert.deepEqual(outcomes(ended), ['success', 'success', 'removed']);
    assert.deepEqual(
      ended.jobs.map(({ attempts }) => attempts.map(({ ending }) => ending === 'success')),
      [[true], [false, true], [false]],
    );
    assert.equal(await readFile(path.join(resultsFolder(run, '0001'), 'model.pt'), 'utf8'), '1\n');

    // What is over is not stopped, submitted or released again.
    await pool.stop(run, stopping);
    await pool.submit(run);
    assert.deepEqual(await pool.release(run, ['0002'], {}), ['0002']);
    assert.deepEqual(outcomes(await readRunState(run)), ['success', 'success', 'removed']);

    const now = await loadPlan(opened.folder, { cwd: opened.folder, set: [`train.command="${corrected}"`] });
    const changed = ['train.command'];
    await retryRun(run, pool, { jobs: ['0002'], change: {}, corrected: { now, changed } }, options);
    const again = await until(pool, run, ({ endedAt, rounds }) => endedAt !== undefined && rounds === 2);
    assert.deepEqual(outcomes(again), ['success', 'success', 'success']);
    assert.deepEqual(await tries(marks), ['1', '2', '2']);
    assert.deepEqual(
      again.jobs[2]?.attempts.map(({ agent }) => agent?.training?.command),
      ['sh train.sh 2', 'sh train.sh 2 corrected'],
    );
  });

  test(`${name}: the worse trial of a search is stopped early, and one that is evicted reports a rung once`, async (t) => {
    const opened = await project(t, name, open, meet, searchFiles);
    if (opened === undefined) return;
    const { pool, plan, marks } = opened;
    const { folder: run } = await submitRun(plan, pool, options);
    t.after(() => pool.stop(run, ['0000', '0001', '0002']).catch(() => undefined));
    const go = (mark: string): Promise<void> => writeFile(path.join(marks, mark), '');
    const rungsOf = ({ jobs }: RunState, index: number) =>
      (jobs[index]?.attempts ?? []).flatMap(({ agent }) => agent?.training?.rungs ?? []);

    await go('0-0');
    await until(pool, run, (state) => rungsOf(state, 0).length === 1);
    await pool.evict(run, '0000');
    await go('1-0');
    await until(pool, run, ({ jobs }) => jobs[1]?.status === 'ended');
    assert.deepEqual(
      (await readRunState(run)).jobs.map((job) => stoppedEarly(job)?.rung),
      [undefined, 1],
    );
    await go('0-1');
    const ended = await until(pool, run, ({ endedAt }) => endedAt !== undefined);
    assert.deepEqual(outcomes(ended), ['success', 'success']);
    assert.deepEqual(
      [0, 1].map((job) =>
        rungsOf(ended, job).map(({ rung, seen, better, goesOn }) => [rung, seen, better, goesOn]),
      ),
      [
        [
          [1, 1, 0, true],
          [2, 1, 0, true],
        ],
        [[1, 2, 1, false]],
      ],
    );
    assert.equal(ended.jobs[0]?.attempts.length, 2);
    assert.deepEqual(await readdir(path.join(run, runFiles.notes, 'rung-1')), ['0000_1_0.9', '0001_1_0.8']);
    assert.deepEqual(await readdir(path.join(run, runFiles.notes, 'rung-2')), ['0000_2_0.9']);
    assert.deepEqual(await readdir(resultsFolder(run, '0001')), ['.updraft.json']);
    assert.notDeepEqual(await readdir(path.join(run, runFiles.jobs, '0001', sandboxFiles.checkpoint)), []);
    assert.deepEqual(await unfinishedJobs(run, ended.jobs), [], 'nothing is left to retry');

    assert.deepEqual(await extendSearch(run, pool, { asked: { trials: 1 }, change: {} }, options), ['0002']);
    await go('2-0');
    const longer = await until(pool, run, ({ endedAt, jobs }) => jobs.length === 3 && endedAt !== undefined);
    assert.deepEqual(outcomes(longer), ['success', 'success', 'success']);
    const [, , last] = (await readRunState(run)).jobs;
    assert.deepEqual(last && stoppedEarly(last)?.seen, 3);

    // The best goes on from its checkpoint, whatever its place.
    const asked = { top: 1, times: 2 };
    assert.deepEqual(await extendSearch(run, pool, { asked, change: {} }, options), ['0000']);
    await Promise.all([go('0-2'), go('0-3')]);
    await until(pool, run, ({ endedAt, rounds }) => rounds === 3 && endedAt !== undefined);
    const [best] = (await readRunState(run)).jobs;
    assert.deepEqual([best?.outcome, best?.attempts.length, best && lastRung(best)?.at], ['success', 3, 4]);
    assert.equal(await readFile(path.join(resultsFolder(run, '0000'), 'model.pt'), 'utf8'), '4\n');
    assert.equal(
      await readFile(path.join(marks, 'epochs'), 'utf8'),
      '1\n2\n3\n4\n',
      'no epoch is trained again',
    );
  });
}

/** Each epoch waits for a mark; trial 1 ends only if it is asked to. */
const searchFiles = (marks: string): Record<string, string> => ({
  'updraft.toml': [
    'name = "contract"',
    '[train]',
    'command = "sh train.sh {index} {epochs}"',
    'files = ["train.sh"]',
    'outputs = ["model.pt"]',
    'checkpoint = "ckpt"',
    '[resources]',
    'cpus = 1',
    'memory = "1 GB"',
    'disk = "64 MB"',
    '[search]',
    'trials = 2',
    'metric = "val_accuracy"',
    'epochs = [1, 2]',
    'eta = 2',
    'ranges = { lr = { log = [1e-4, 0.1] } }',
    '',
  ].join('\n'),
  'train.sh': [
    `trap 'exit 85' TERM`,
    'n=$(cat ckpt/n 2> /dev/null || echo 0)',
    'while [ $n -lt $2 ]; do',
    `  while [ ! -e "${marks}/$1-$n" ]; do sleep 0.1; done`,
    '  n=$((n + 1)); echo $n > ckpt/n.part; mv ckpt/n.part ckpt/n',
    `  [ $1 -ne 0 ] || echo $n >> "${marks}/epochs"`,
    '  echo "epoch $n val_accuracy 0.$((9 - $1))"',
    'done',
    'echo $n > model.pt',
    '',
  ].join('\n'),
});

async function project(
  t: TestContext,
  name: string,
  open: OpenPool,
  meet: Meet,
  filesOf = (marks: string): Record<string, string> => ({
    'updraft.toml': jobFile,
    'train.sh': train(marks),
  }),
): Promise<(Opened & { plan: Plan; marks: string }) | undefined> {
  const marks = await meet(t);
  if (marks === undefined) return undefined;
  const opened = await open(t, filesOf(marks.onWorker));
  if (opened === undefined) return undefined;
  const plan = await loadPlan(opened.folder, { cwd: opened.folder });
  // Set here, so that a pool that no job file can name passes the suite too.
  plan.spec.run.pool = name as PoolName;
  return { ...opened, plan, marks: marks.here };
}

/** The first state that holds; refreshes a pool that must be asked. */
async function until(pool: Pool, run: string, holds: (state: RunState) => boolean): Promise<RunState> {
  const over = new AbortController();
  const asking = (async () => {
    while (!over.signal.aborted) {
      await pool.refresh?.(run);
      await systemClock.sleep(500, over.signal).catch(() => undefined);
    }
  })();
  try {
    const state = await untilState(run, holds);
    assert.ok(holds(state), JSON.stringify(state.jobs));
    return state;
  } finally {
    over.abort();
    await asking;
  }
}

/** Waits until a running job's output is available from the pool or in the run's folder. */
async function printed(pool: Pool, run: string, job: string, words: string): Promise<void> {
  const signal = AbortSignal.timeout(hangMs);
  const file = path.join(attemptFolder(run, job, 1), attemptFiles.out);
  for (let text = ''; text !== words;) {
    await systemClock.sleep(100, signal);
    const page = await pool.output(run, job, 'out', signal).catch(() => undefined);
    text = page?.bytes.toString() ?? (await readFile(file, 'utf8').catch(() => ''));
  }
}

const outcomes = ({ jobs }: RunState): unknown[] => jobs.map(({ outcome }) => outcome);

const tries = (marks: string): Promise<string[]> =>
  Promise.all(['0', '1', '2'].map(async (job) => (await readFile(path.join(marks, job), 'utf8')).trim()));
