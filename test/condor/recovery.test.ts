import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import { isOpen, type JobState } from '@updraft/account/journal';
import { requestStop, readRunState } from '../../src/run/run-states.ts';
import { condorHarness, onlyJob, result, type CondorHarness } from './condor-harness.ts';
import { hangMs } from '../hang-limit.ts';

/**
 * A harness whose agent is a script, so that attempts end as the test needs: `$site` is where it runs, `$try` which
 * attempt it is, `$memory` (MB) and `$disk` (KB) what its slot has. HTCondor and its rules are real.
 */
async function scripted(t: TestContext, body: string, toml = ''): Promise<CondorHarness | undefined> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'scripted-agent-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const agent = path.join(folder, 'agent');
  await writeFile(
    agent,
    `#!/bin/sh
[ "$1" = sandbox ] || exit 0
site=$(sed -n 's/^GLIDEIN_ResourceName = "\\(.*\\)"/\\1/p' "$_CONDOR_MACHINE_AD")
try=$(sed -n 's/^NumShadowStarts = //p' "$_CONDOR_JOB_AD")
memory=$(sed -n 's/^Memory = //p' "$_CONDOR_MACHINE_AD")
disk=$(sed -n 's/^Disk = //p' "$_CONDOR_MACHINE_AD")
${body}
`,
  );
  await chmod(agent, 0o755);
  // Two CPUs, so that small slots left by other tests' jobs, with their own memory, are not reused.
  const job = `name = "healed"\n[train]\ncommand = "true"\noutputs = ["o"]\n[resources]\ncpus = 2\nmemory = "64 MB"\ndisk = "20 MB"\n[run]\npool = "condor"\n${toml}`;
  return await condorHarness(t, { 'updraft.toml': job }, { env: { UPDRAFT_AGENT: agent } });
}

/** Longer than any test waits: only the pool ends it. */
const longer = hangMs / 1000;
/** Uses more memory than its slot has, and waits until the pool notices. */
const takingTooMuch = `exec python3 -c 'import sys, time; x = b"x" * (int(sys.argv[1]) + 120 << 20); time.sleep(${longer})' $memory`;

const sitesOf = ({ attempts }: JobState): string[] => attempts.map(({ site }) => site);
const exitsOf = ({ attempts }: JobState): unknown[] => attempts.map(({ exit }) => exit);

describe('the schedd recovers jobs with no user logged in', { concurrency: 4 }, () => {
  test('a site that fails every job is avoided at once, and each job succeeds elsewhere', async (t) => {
    const harness = await scripted(t, '[ "$site" = GP-ARGO-ksu-backfill ] || exit 115', 'jobs = 2\n');
    if (harness === undefined) return;
    const { jobs } = await harness.finish(await harness.submit());
    for (const job of jobs) {
      assert.equal(job.outcome, 'success', JSON.stringify(job));
      assert.equal(sitesOf(job).at(-1), 'GP-ARGO-ksu-backfill');
      assert.equal(new Set(sitesOf(job)).size, job.attempts.length, sitesOf(job).join());
    }
  });

  test('when every site has failed the job, it waits, then returns to one of them', async (t) => {
    const harness = await scripted(t, '[ $try -gt 3 ] || exit 92');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, exitsOf(job)], ['success', [92, 92, 92, 0]]);
    assert.equal(new Set(sitesOf(job).slice(0, 3)).size, 3, sitesOf(job).join());
  });

  test('a missing object delays the job, and no site is avoided for it', async (t) => {
    const where = `requirements = 'MY.Go =?= true && GLIDEIN_ResourceName == "PDX-Coeus-CE1"'\n`;
    const harness = await scripted(t, '[ $try -gt 2 ] || exit 96', where);
    if (harness === undefined) return;
    const run = await harness.submit();
    const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
    // An avoided site would never be used again.
    const rule = await harness.tool('condor_q', ...mine, '-af:r', 'Requirements');
    const strict = rule.replace(/(EnteredCurrentStatus\) > )\d+/, '$1 1000000');
    assert.notEqual(strict, rule);
    await harness.tool('condor_qedit', ...mine, 'Requirements', strict);
    await harness.tool('condor_qedit', ...mine, 'Go', 'true');
    const kept = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
    assert.deepEqual([kept.status, kept.held?.kind], ['waiting', 'object-missing']);
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, exitsOf(job)], ['success', [96, 96, 0]]);
  });

  test('a killed agent is retried', async (t) => {
    const harness = await scripted(t, '[ $try -gt 1 ] || kill -9 $$');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, job.attempts.length], ['success', 2], JSON.stringify(job));
  });

  test('a failure that costs a complete training is retried once', async (t) => {
    const harness = await scripted(t, 'exit 111');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, exitsOf(job)], ['failed', [111, 111]]);
  });

  test('the job file limits the attempts, whatever their failures', async (t) => {
    const harness = await scripted(t, '[ $try = 2 ] && exit 96; exit 100', 'attempts = 3\n');
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, exitsOf(job)], ['failed', [100, 96, 100]]);
    await harness.untilQueue('', `UpdraftRun == "${path.basename(run)}"`, 'ClusterId');
  });

  test('no attempt begins after give_up_after', async (t) => {
    const harness = await scripted(t, 'exit 96', 'attempts = 50\n[recovery]\ngive_up_after = "8s"\n');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    // Where the pool is slow, the job waits for a match when its time is over: then it is held, for good.
    assert.match(job.outcome, /^(?:held|failed)$/);
    assert.ok(job.attempts.length < 6, `${job.attempts.length} attempts`);
  });

  test('a job that runs out of memory is retried with twice as much, up to memory_max', async (t) => {
    const harness = await scripted(
      t,
      `[ $try -gt 1 ] && [ $memory -gt 200 ] || ${takingTooMuch}`,
      '[recovery]\nmemory_max = "8 GB"\n',
    );
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.equal(job.outcome, 'success', JSON.stringify(job));
    assert.ok(job.attempts.length > 1);
    assert.match(job.attempts[0]?.fault?.message ?? '', /memory/);
  });

  test('a job that needs more than memory_max is held with the reason, and not retried forever', async (t) => {
    const harness = await scripted(t, takingTooMuch, '[recovery]\nmemory_max = "100 MB"\n');
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'held', JSON.stringify(job));
    // HTCondor may hold the second attempt before it begins, by the memory use of the first.
    assert.ok(job.attempts.length <= 2, JSON.stringify(job));
    assert.match(job.held?.fix ?? '', /memory/);
    // Held permanently, it is still in the queue, and leaves it when the run is stopped.
    const mine = `UpdraftRun == "${path.basename(run)}"`;
    await harness.untilQueue('5', mine, 'JobStatus');
    const stopping = await requestStop(run, await readRunState(run), [], systemClock);
    assert.deepEqual(stopping, [job.id]);
    await harness.pool.stop(run, stopping);
    let stopped = onlyJob(await readRunState(run));
    // The run has ended, so it is not followed; the pool may be late to log the removal.
    for (; isOpen(stopped); stopped = onlyJob(await readRunState(run))) await systemClock.sleep(100);
    assert.deepEqual([stopped.outcome, stopped.held], ['removed', undefined]);
    await harness.untilQueue('', mine, 'JobStatus');
  });

  test('a job that needs more disk than it got is retried with more', async (t) => {
    const fill = `head -c 215000000 /dev/zero > big; [ $disk -gt 220000 ] || exec sleep ${longer}`;
    const harness = await scripted(t, fill);
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, job.attempts.length], ['success', 2], JSON.stringify(job));
    assert.deepEqual(
      [job.attempts[0]?.fault?.kind, job.attempts[0]?.fault?.message.includes('disk usage')],
      ['disk-full', true],
    );
  });

  test('results that the access point could not store are computed again and stored', async (t) => {
    const harness = await scripted(
      t,
      'mkdir -p results/0000; echo $try > results/0000/o',
      `requirements = 'MY.Go =?= true'\n`,
    );
    if (harness === undefined) return;
    const run = await harness.submit();
    const mine = `UpdraftRun == "${path.basename(run)}"`;
    const results = path.join(run, 'results/0000');
    await mkdir(results, { recursive: true });
    await chmod(results, 0o555);
    await harness.tool('condor_qedit', '-constraint', mine, 'Go', 'true');
    const held = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
    await chmod(results, 0o755);
    assert.equal(held.held?.kind, 'transfer-failed', JSON.stringify(held));
    assert.match(await readFile(path.join(run, 'events.log'), 'utf8'), /^\s*Code 12 /m);
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'success', JSON.stringify(job));
    assert.equal(await result(run, 'o'), `${job.attempts.length}\n`);
  });

  test('a job removed by hand during recovery is stopped and does not return', async (t) => {
    const harness = await scripted(t, 'exit 96');
    if (harness === undefined) return;
    const run = await harness.submit();
    await harness.until(run, (state) => onlyJob(state).held !== undefined);
    const mine = `UpdraftRun == "${path.basename(run)}"`;
    await harness.tool('condor_rm', '-reason', 'changed my mind', '-constraint', mine);
    assert.equal(onlyJob(await harness.finish(run)).outcome, 'removed');
    await harness.untilQueue('', mine, 'ClusterId');
  });
});
