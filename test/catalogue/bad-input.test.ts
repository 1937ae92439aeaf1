import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { onlyJob } from '../condor/condor-harness.ts';
import { catalogueHarness, constraint, demoData, endsOf, jobFile } from './catalogue-harness.ts';

const copying = jobFile('cp data/x.bin out', { tables: demoData(), run: 'attempts = 3' });

describe('unexpected trouble', { concurrency: 3 }, () => {
  test('an object deleted during the fetch is reported as missing, and the job continues when it is back', async (t) => {
    const harness = await catalogueHarness(t, async (objects) => {
      await objects.publish('demo/x.bin', 12_000_000);
      await objects.trouble('all: slow 50kB/s on x.bin');
      return { 'updraft.toml': copying.replace('attempts = 3', 'attempts = 9') };
    });
    if (harness === undefined) return;
    const { objects } = harness;
    const run = await harness.submit();
    await harness.until(run, (state) => (onlyJob(state).attempts[0]?.agent?.fetches.length ?? 0) > 0);
    await rm(objects.published('demo/x.bin'));
    await objects.federation.evict();
    await objects.federation.trouble.clear();
    await objects.trouble('caches: reset on x.bin for 1s');
    const held = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
    // Not by `why`: HTCondor may have released it meanwhile.
    assert.equal(held.held?.kind, 'object-missing', endsOf(held));
    assert.match(held.held.message, /x\.bin/);
    await objects.publish('demo/x.bin', 4_000_000);
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'success', endsOf(job));
  });

  test('jobs survive a time without caches, origin and director', async (t) => {
    const harness = await catalogueHarness(t, async (objects) => {
      await objects.publish('demo/x.bin', 100_000);
      return { 'updraft.toml': copying.replace('attempts = 3', 'attempts = 5') };
    });
    if (harness === undefined) return;
    const { trouble } = harness.objects.federation;
    await trouble.add('all: down');
    const run = await harness.submit();
    const met = onlyJob(
      await harness.until(run, (state) => (onlyJob(state).attempts[0]?.ending ?? 'running') !== 'running'),
    );
    assert.match(met.attempts[0]?.fault?.kind ?? '', /unreachable|discovery/, endsOf(met));
    await trouble.clear();
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'success', endsOf(job));
  });

  test("a job held for an unknown reason stays held and is shown with HTCondor's words", async (t) => {
    const harness = await catalogueHarness(t, () => ({
      'updraft.toml': jobFile('sleep 600', { run: `requirements = 'MY.Go =?= true'` }),
    }));
    if (harness === undefined) return;
    const run = await harness.submit();
    // What a rule of some access point could do; neither our code nor one of HTCondor's.
    // The condition last: the schedd may evaluate it between two edits.
    const rule = {
      PeriodicHoldReason: '"moon in the wrong house"',
      PeriodicHoldSubCode: '4711',
      PeriodicHold: 'true',
    };
    for (const [name, value] of Object.entries(rule))
      await harness.tool('condor_qedit', ...constraint(run), name, value);
    const held = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
    assert.match(held.held?.message ?? '', /moon in the wrong house/);
    const { because, doing, standing } = await harness.why(run);
    assert.equal(standing, 'held');
    assert.match(because.join(' '), /moon in the wrong house/);
    assert.match(doing.join(' '), /^Nothing/);
    await harness.untilQueue('5 4711', constraint(run)[1], 'JobStatus', 'HoldReasonSubCode');
  });
});
