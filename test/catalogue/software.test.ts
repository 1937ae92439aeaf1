import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { onlyJob, result } from '../condor/condor-harness.ts';
import { makeImage } from '../condor/make-image.ts';
import { makeExecutable, makePack, unpackTiny } from '../environment/make-pack.ts';
import { catalogueHarness, endsOf, jobFile, rulesOf, type CatalogueHarness } from './catalogue-harness.ts';

/** A project whose script runs in an image that has a shell and little else. */
async function inBareImage(t: TestContext, script: string): Promise<CatalogueHarness | undefined> {
  const harness = await catalogueHarness(t, () => ({
    'updraft.toml': jobFile('sh run.sh', {
      train: 'files = ["run.sh"]',
      tables: '[environment]\nimage = "bare"',
    }),
    'run.sh': `#!/bin/sh\nset -e\n${script}\ncat x > out\n`,
  }));
  if (harness === undefined) return undefined;
  await mkdir(path.join(harness.folder, 'bare'));
  await makeImage(path.join(harness.folder, 'bare'));
  return harness;
}

describe('missing software', { concurrency: 3 }, () => {
  for (const [title, tool] of [
    ['F3: a script that fetches with wget is refused when the image has none', 'wget'],
    ['F4: a script that unpacks with unzip is refused when the image has none', 'unzip'],
  ] as const)
    test(title, async (t) => {
      const harness = await inBareImage(t, `${tool} something`);
      if (harness === undefined) return;
      const { exit, findings } = await harness.check();
      const missing = findings.find(({ rule }) => rule === 'tool-missing');
      assert.deepEqual([exit, missing?.file, missing?.line], [3, 'run.sh', 3], JSON.stringify(findings));
      assert.match(missing?.message ?? '', new RegExp(`\`${tool}\` is not in the image bare`));
    });

  test('F5: SciPy missing from the image is refused, and so is installing it in the job', async (t) => {
    const harness = await inBareImage(t, 'pip install scipy\npython3 -m scipy');
    if (harness === undefined) return;
    const checked = await harness.check();
    assert.equal(checked.exit, 3);
    assert.ok(rulesOf(checked).includes('module-missing'), JSON.stringify(checked));
    assert.ok(rulesOf(checked, 'warning').includes('run-time-download'), JSON.stringify(checked));
  });

  test('F5: a worker whose Python lacks SciPy says so before any data moves, and is tried twice only', async (t) => {
    const harness = await catalogueHarness(t, () => ({
      'updraft.toml': jobFile('true', { tables: '[environment]\npython = ["scipy"]' }),
    }));
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual(
      [job.outcome, job.attempts.map(({ exit }) => exit)],
      ['failed', [116, 116]],
      endsOf(job),
    );
    const { because, advice } = await harness.why(run);
    assert.match(because.join(' '), /no Python on this machine can import scipy/);
    assert.match(advice.join(' '), /install them|`image`/);
  });

  test('F13: check finds downloads within the job, and why explains a worker without network', async (t) => {
    const harness = await catalogueHarness(t, () => ({
      'updraft.toml': jobFile('unshare --user --net python3 train.py', { train: 'files = ["train.py"]' }),
      'train.py': `import urllib.request
urllib.request.urlretrieve("http://203.0.113.1/resnet50.pth", "out")
`,
    }));
    if (harness === undefined) return;
    const { findings } = await harness.check('--quick');
    const found = findings.find(({ rule }) => rule === 'run-time-download');
    assert.deepEqual([found?.file, found?.line], ['train.py', 2], JSON.stringify(findings));
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual([job.outcome, job.attempts.length], ['failed', 1], endsOf(job));
    const { cause, because } = await harness.why(run);
    assert.equal(cause, 'training-failed');
    assert.match(because.join(' '), /Network is unreachable/);
  });

  test('F19: memory and disk for a packed environment are requested, and check reports too little', async (t) => {
    const pack = makeExecutable(makePack(), { unpacker: unpackTiny() });
    const harness = await catalogueHarness(t, async (objects) => {
      await objects.publish('demo/env.sh', pack);
      return {
        'updraft.toml': jobFile('tiny > out', {
          tables: `[environment.pack]\nurl = "osdf:///demo/env.sh"\nbytes = ${pack.length}\n`,
        }).replace(/memory = .*\ndisk = .*\n/, ''),
      };
    });
    if (harness === undefined) return;
    const run = await harness.submit();
    const state = await harness.finish(run);
    assert.equal(onlyJob(state).outcome, 'success', endsOf(onlyJob(state)));
    const ofRun = `UpdraftRun == "${path.basename(run)}"`;
    const [asked = ''] = await harness.ask(ofRun, 'RequestMemory', 'RequestDisk');
    const [memory = 0, disk = 0] = asked.split(' ').map(Number);
    assert.ok(memory >= 1900, `${memory} MB`);
    assert.ok(disk >= 900_000, `${disk} kB`);
    const small = ['--set', 'environment.pack.bytes=2000000000', '--set', 'resources.disk="2 GB"'];
    const { findings } = await harness.check('--quick', ...small);
    const found = findings.find(({ rule }) => rule.startsWith('disk-'));
    assert.match(found?.message ?? JSON.stringify(findings), /7\.\d GB needed .*unpacked 3\.8 GB/);
  });

  test('F21: an archive and a script that lose their permissions on the way still run', async (t) => {
    const pack = makeExecutable(makePack(), { unpacker: unpackTiny() });
    const sha256 = createHash('sha256').update(pack).digest('hex');
    const harness = await catalogueHarness(t, async (objects) => {
      await objects.publish('demo/env.sh', pack);
      await chmod(objects.published('demo/env.sh'), 0o644);
      return {
        'updraft.toml': jobFile('./run.sh', {
          train: 'files = ["run.sh"]',
          tables: `[environment.pack]\nurl = "osdf:///demo/env.sh"\nsha256 = "${sha256}"\n`,
        }),
        'run.sh': '#!/bin/sh\nexec tiny > out\n',
      };
    });
    if (harness === undefined) return;
    await chmod(path.join(harness.folder, 'run.sh'), 0o755);
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'success', endsOf(job));
    assert.match(await result(run, 'out'), /^tiny in /);
  });
});
