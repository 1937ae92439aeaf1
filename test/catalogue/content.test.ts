import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, readFile, truncate, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { makeTarGz } from '../agent/tar.ts';
import { onlyJob, result } from '../condor/condor-harness.ts';
import { hangMs } from '../hang-limit.ts';
import type { ObjectHarness } from '../objects/object-harness.ts';
import { catalogueHarness, demoData, endsOf, jobFile, rulesOf } from './catalogue-harness.ts';

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

async function isHeld(log: string): Promise<void> {
  const signal = AbortSignal.timeout(hangMs);
  while (!(await readFile(log, 'utf8')).includes('Job was held'))
    await waitForChange([log], 500, systemClock, signal);
}

describe('content and results that are wrong', { concurrency: 3 }, () => {
  test("F1: input over the access point's limit is refused with both figures, and a hold for it is explained", async (t) => {
    const harness = await catalogueHarness(t, () => ({
      'updraft.toml': jobFile('cat data/train.tar > out', {
        tables: '[data.d]\nurl = "file:///TRAIN"\nmethod = "native"\nunpack = "none"\n',
        run: 'profile = "ospool"\nproject = "p"',
      }),
      'train.tar': '',
      'run.sh': '#!/bin/sh\n',
      'job.sub': `executable = run.sh
transfer_input_files = train.tar
max_transfer_input_mb = 5000
log = job.log
request_disk = 1MB
queue
`,
    }));
    if (harness === undefined) return;
    const at = (name: string): string => path.join(harness.folder, name);
    await truncate(at('train.tar'), 158_783 * 2 ** 20);
    await chmod(at('run.sh'), 0o755);
    const checked = await harness.check('--quick', '--set', `data.d.url="file://${at('train.tar')}"`);
    assert.equal(checked.exit, 3);
    assert.ok(rulesOf(checked).includes('native-input'), JSON.stringify(checked.findings));
    assert.match(JSON.stringify(checked.findings), /158,783 MB.*5,000 MB/);
    await harness.tool('condor_submit', 'job.sub');
    await isHeld(at('job.log'));
    const { cause, because } = await harness.whyLog('job.log');
    assert.equal(cause, 'input-too-big');
    assert.match(because.join(' '), /15878[34] MB, limit 5000 MB/);
    await harness.tool('condor_rm', '-constraint', `Iwd == "${harness.folder}"`);
  });

  test('F14: an archive that a cache has damaged is noticed and fetched again from another', async (t) => {
    const bytes = randomBytes(3_000_000);
    const prepare = async (objects: ObjectHarness) => {
      await objects.publish('demo/x.tar.gz', makeTarGz({ 'x.bin': bytes }));
      await objects.trouble('cache-1: corrupt at 100kB length 64 on x.tar.gz');
      const data = demoData('x.tar.gz').replace('unpack = "none"\n', '');
      return { 'updraft.toml': jobFile('sha256sum < data/x.bin > out', { tables: data }) };
    };
    // A stall on a busy machine would ask another cache: keep the default timeout.
    const harness = await catalogueHarness(t, prepare, {});
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, job.attempts.length], ['success', 1], endsOf(job));
    assert.equal(await result(run, 'out'), `${sha256(bytes)}  -\n`);
    const [fetch] = job.attempts[0]?.agent?.fetches ?? [];
    assert.ok(
      fetch?.setbacks.some(({ fault }) => /data-corrupt|archive-damaged/.test(fault.kind)),
      JSON.stringify(fetch),
    );
  });

  test('F15: a wrapper that hides a failure is not a success: the output decides', async (t) => {
    const harness = await catalogueHarness(t, () => ({
      'updraft.toml': jobFile('sh run.sh', { train: 'files = ["run.sh"]' }),
      'run.sh': '#!/bin/sh\npython3 -c "raise SystemExit(\'no data\')" > out.part\nrm -f out.part\n',
    }));
    if (harness === undefined) return;
    const { findings } = await harness.check('--quick');
    assert.ok(
      findings.some(({ rule }) => rule === 'no-stop-on-error' || rule === 'status-lost'),
      JSON.stringify(findings),
    );
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, job.attempts[0]?.exit], ['wrong-output', 112], endsOf(job));
    const { cause, because } = await harness.why(run);
    assert.equal(cause, 'wrong-output');
    assert.match(because.join(' '), /out\b/);
  });

  test('F20: new content under a name that caches still have is noticed; staging gives it a new name', async (t) => {
    const [older, newer] = [randomBytes(200_000), randomBytes(200_000)];
    const prepare = async (objects: ObjectHarness) => {
      await objects.publish('demo/x.bin', older);
      // Servers give times in seconds: only a later one shows that what caches have is old.
      await utimes(objects.published('demo/x.bin'), 1e9, 1e9);
      for (const { httpUrl } of objects.federation.caches)
        await (await fetch(`${httpUrl}/demo/x.bin`)).arrayBuffer();
      await objects.publish('demo/x.bin', newer);
      const data = demoData('x.bin', `sha256 = "${sha256(newer)}"`);
      return { 'updraft.toml': jobFile('sha256sum < data/x.bin > out', { tables: data }) };
    };
    const harness = await catalogueHarness(t, prepare, {});
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, job.attempts.length], ['success', 1], endsOf(job));
    assert.equal(await result(run, 'out'), `${sha256(newer)}  -\n`);
    const { objects } = harness;
    const env = await objects.tokenEnv({ namespace: '/inbox' });
    const names = [];
    for (const content of [older, newer]) {
      await writeFile(objects.at('x.bin'), content);
      const { out } = await objects.updraft(['stage', 'x.bin', 'osdf:///inbox', '--json'], { env });
      names.push((JSON.parse(out) as { url: string }).url);
    }
    assert.deepEqual(
      names,
      [older, newer].map((content) => `osdf:///inbox/x-${sha256(content).slice(0, 8)}.bin`),
    );
  });
});
