import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { isOpen, type JobState } from '../../src/journal/state.ts';
import { requestStop } from '../../src/run/request-stop.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { condorHarness, onlyJob, result, type CondorHarness } from './condor-harness.ts';

/**
 * A bench whose agent is a script, so that attempts end as the test wants: `$site` is where it runs, `$try` which
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
  // Two CPUs: the small slots that other tests' jobs leave behind, with memory of their own, are not taken over.
  const job = `name = "healed"\n[train]\ncommand = "true"\noutputs = ["o"]\n[resources]\ncpus = 2\nmemory = "64 MB"\ndisk = "20 MB"\n[run]\npool = "condor"\n${toml}`;
  return await condorHarness(t, { 'updraft.toml': job }, { env: { UPDRAFT_AGENT: agent } });
}

/** Longer than any test waits: only the pool ends what lasts so long. */
const longer = 300;
/** Takes more memory than its slot has, and stays until the pool has noticed. */
const takingTooMuch = `exec python3 -c 'import sys, time; x = b"x" * (int(sys.argv[1]) + 120 << 20); time.sleep(${longer})' $memory`;

const sitesOf = ({ attempts }: JobState): (string | undefined)[] => attempts.map(({ pool }) => pool?.site);
const exitsOf = ({ attempts }: JobState): unknown[] => attempts.map(({ exit }) => exit);

describe('the schedd heals with nobody logged in', { concurrency: 4 }, () => {
  test('a site that fails every job is left at once, and each job ends well elsewhere', async (t) => {
    const harness = await scripted(t, '[ "$site" = GP-ARGO-ksu-backfill ] || exit 115', 'jobs = 2\n');
    if (harness === undefined) return;
    const { jobs } = await harness.finish(await harness.submit());
    for (const job of jobs) {
      assert.equal(job.outcome, 'success', JSON.stringify(job));
      assert.equal(sitesOf(job).at(-1), 'GP-ARGO-ksu-backfill');
      assert.equal(new Set(sitesOf(job)).size, job.attempts.length, sitesOf(job).join());
    }
  });

  test('when every site has failed the job, it waits, then goes back to one of them', async (t) => {
    const harness = await scripted(t, '[ $try -gt 3 ] || exit 92');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, exitsOf(job)], ['success', [92, 92, 92, 0]]);
    assert.equal(new Set(sitesOf(job).slice(0, 3)).size, 3, sitesOf(job).join());
  });

  test('an object that is not there keeps the job back for a while, and no site is blamed for it', async (t) => {
    const where = `requirements = 'MY.Go =?= true && GLIDEIN_ResourceName == "PDX-Coeus-CE1"'\n`;
    const harness = await scripted(t, '[ $try -gt 2 ] || exit 96', where);
    if (harness === undefined) return;
    const run = await harness.submit();
    const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
    // A site that is blamed would never be gone back to.
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

  test('an agent that was killed is tried again', async (t) => {
    const harness = await scripted(t, '[ $try -gt 1 ] || kill -9 $$');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, job.attempts.length], ['success', 2], JSON.stringify(job));
  });

  test('attempts that cost a whole training are two at most', async (t) => {
    const harness = await scripted(t, 'exit 111');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, exitsOf(job)], ['failed', [111, 111]]);
  });

  test('the attempts of the job file are the end, whatever they failed of', async (t) => {
    const harness = await scripted(t, '[ $try = 2 ] && exit 96; exit 100', 'attempts = 3\n');
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, exitsOf(job)], ['failed', [100, 96, 100]]);
    const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
    assert.equal(await harness.tool('condor_q', ...mine, '-af', 'ClusterId'), '');
  });

  test('no attempt is begun after the time at which the job is given up', async (t) => {
    const harness = await scripted(t, 'exit 96', 'attempts = 50\n[recovery]\ngive_up_after = "8s"\n');
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.equal(job.outcome, 'failed');
    assert.ok(job.attempts.length < 6, `${job.attempts.length} attempts`);
  });

  test('a job that runs out of memory is tried again with twice as much, up to what the file allows', async (t) => {
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

  test('a job that needs more memory than the file allows is held with the reason, and not tried for ever', async (t) => {
    const harness = await scripted(t, takingTooMuch, '[recovery]\nmemory_max = "100 MB"\n');
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'failed', JSON.stringify(job));
    // HTCondor may hold the second by what the first had used, before it has begun.
    assert.ok(job.attempts.length <= 2, JSON.stringify(job));
    assert.match(job.held?.fix ?? '', /memory/);
    // Held for good, it is still in the queue, and leaves it when the run is stopped.
    const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
    assert.equal(await harness.tool('condor_q', ...mine, '-af', 'JobStatus'), '5');
    const stopping = await requestStop(run, await readRunState(run), [], systemClock);
    assert.deepEqual(stopping, [job.id]);
    await harness.pool.stop(run, stopping);
    const stopped = onlyJob(await harness.until(run, (state) => !isOpen(onlyJob(state))));
    assert.deepEqual([stopped.outcome, stopped.held], ['stopped', undefined]);
    assert.equal(await harness.tool('condor_q', ...mine, '-af', 'JobStatus'), '');
  });

  test('a job that needs more disk than it was given is tried again with more', async (t) => {
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

  test('results that the access point could not take are made again, and taken', async (t) => {
    const harness = await scripted(
      t,
      'mkdir -p results/0000; echo $try > results/0000/o',
      `requirements = 'MY.Go =?= true'\n`,
    );
    if (harness === undefined) return;
    const run = await harness.submit();
    const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
    const results = path.join(run, 'results/0000');
    await mkdir(results, { recursive: true });
    await chmod(results, 0o555);
    await harness.tool('condor_qedit', ...mine, 'Go', 'true');
    const held = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
    await chmod(results, 0o755);
    assert.equal(held.held?.kind, 'transfer-failed', JSON.stringify(held));
    assert.equal(await harness.tool('condor_q', ...mine, '-af', 'HoldReasonCode'), '12');
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'success', JSON.stringify(job));
    assert.equal(await result(run, 'o'), `${job.attempts.length}\n`);
  });

  test('a job removed by hand while it is being healed ends as stopped and does not come back', async (t) => {
    const harness = await scripted(t, 'exit 96');
    if (harness === undefined) return;
    const run = await harness.submit();
    await harness.until(run, (state) => onlyJob(state).held !== undefined);
    const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
    await harness.tool('condor_rm', '-reason', 'changed my mind', ...mine);
    assert.equal(onlyJob(await harness.finish(run)).outcome, 'stopped');
    assert.equal(await harness.tool('condor_q', ...mine, '-af', 'ClusterId'), '');
  });
});
