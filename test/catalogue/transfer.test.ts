import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { onlyJob } from '../condor/condor-harness.ts';
import type { ObjectHarness } from '../objects/object-harness.ts';
import { catalogueHarness, constraint, demoData, endsOf, jobFile, rulesOf } from './catalogue-harness.ts';

const copy = 'cp data/x.bin out';

/** A 4 MB object, the trouble of its servers, and a job that copies it. */
const copying =
  (run: string, ...trouble: string[]) =>
  async (objects: ObjectHarness): Promise<Record<string, string>> => {
    await objects.publish('demo/x.bin', 4_000_000);
    await objects.trouble(...trouble);
    return { 'updraft.toml': jobFile(copy, { tables: demoData(), run }) };
  };

/** A second without a byte on a busy machine may be a server that waits for the processor, and ends the attempt. */
const longTimeouts = { UPDRAFT_STALL_SECONDS: '4' };

describe('transfers that fail', { concurrency: 3 }, () => {
  // The longest one first.
  test('F18: a job whose data stalls for ever is given up after its attempts, with the cause', async (t) => {
    const harness = await catalogueHarness(t, copying('attempts = 2', 'all: stall after 1kB on x.bin'));
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, job.attempts.length], ['failed', 2], endsOf(job));
    const { cause, doing } = await harness.why(run);
    assert.equal(cause, 'transfer-stalled');
    assert.match(doing.join(' '), /tried 2 times, and the rules of the run allow 2/);
    await harness.untilQueue('', constraint(run)[1], 'ClusterId');
  });

  test('F2: a web server that falls silent is asked again for the rest, within the same attempt', async (t) => {
    const harness = await catalogueHarness(
      t,
      async (objects) => {
        await objects.publish('demo/x.bin', 4_000_000);
        await objects.trouble('cache-1: stall after 1MB on x.bin first 2');
        const [cache] = objects.federation.caches;
        const data = demoData().replace('osdf://', cache?.httpUrl ?? '');
        return { 'updraft.toml': jobFile(copy, { tables: data }) };
      },
      longTimeouts,
    );
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, job.attempts.length], ['success', 1], endsOf(job));
    const [fetch] = job.attempts[0]?.agent?.fetches ?? [];
    assert.ok(
      fetch?.setbacks.some(({ fault }) => fault.kind === 'transfer-stalled'),
      JSON.stringify(fetch),
    );
  });

  test('F6: a wrong path is refused; a false 404 from caches costs nothing', async (t) => {
    const harness = await catalogueHarness(t, copying('', 'caches: 404 on x.bin'), {});
    if (harness === undefined) return;
    const job = onlyJob(await harness.finish(await harness.submit()));
    assert.deepEqual([job.outcome, job.attempts.length], ['success', 1], endsOf(job));
    const wrong = ['--quick', '--set', 'data.d.url=osdf:///demo/wrong.bin'];
    const checked = await harness.check(...wrong);
    assert.deepEqual([checked.exit, rulesOf(checked)], [3, ['object-missing']]);
  });

  test('F7: an archive that was not staged is reported before anything is queued', async (t) => {
    const harness = await catalogueHarness(t, (objects) => copying('')(objects));
    if (harness === undefined) return;
    await rm(harness.objects.published('demo/x.bin'));
    const { exit, err } = await harness.objects.updraft(['submit'], {
      cwd: harness.folder,
      env: harness.env,
    });
    assert.equal(exit, 3);
    assert.match(err, /object-missing[\s\S]*nothing was queued/);
    assert.equal(
      await harness.tool('condor_q', '-constraint', `Iwd == "${harness.folder}"`, '-af', 'ClusterId'),
      '',
    );
  });

  test('F10: transfers that stall again and again continue from other servers, in one attempt', async (t) => {
    const harness = await catalogueHarness(
      t,
      copying('jobs = 2', 'caches: stall after 500kB on x.bin first 5'),
      longTimeouts,
    );
    if (harness === undefined) return;
    const { jobs } = await harness.finish(await harness.submit());
    for (const job of jobs) assert.deepEqual([job.outcome, job.attempts.length], ['success', 1], endsOf(job));
  });

  test('F11: six jobs meet a burst of 404s, are released and succeed', async (t) => {
    const harness = await catalogueHarness(t, copying('jobs = 6', 'all: 404 on x.bin'));
    if (harness === undefined) return;
    const run = await harness.submit();
    // The burst lasts until it has hit one.
    await harness.until(run, (state) => state.jobs.some(({ attempts }) => attempts[0]?.exit === 96));
    await harness.objects.federation.trouble.clear();
    const { jobs, tally } = await harness.finish(run);
    assert.equal(tally.success, 6, jobs.map(endsOf).join('\n'));
  });

  test('F16: jobs that HTCondor holds in transfer are released, held and released again, and succeed', async (t) => {
    const harness = await catalogueHarness(t, async (objects) => {
      await objects.publish('demo/x.bin', 1000);
      await objects.trouble('cache-1: 404 on x.bin first 2');
      const [cache] = objects.federation.caches;
      const data = demoData()
        .replace('osdf://', cache?.httpUrl ?? '')
        .replace('stream', 'https');
      return { 'updraft.toml': jobFile(copy, { tables: data }) };
    });
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.ok(job.outcome === 'success' && job.attempts.length >= 3, endsOf(job));
    assert.match((await harness.why(run)).title, /nothing is wrong, but it took more than one attempt/);
  });
});
