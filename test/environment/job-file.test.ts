import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadPlan } from '../../src/job/load-plan.ts';
import { fetchedBy, type Plan } from '../../src/job/plan.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const workspaces = path.join(import.meta.dirname, 'workspaces');

/** Plans a job file with these lines in [environment] and [resources], beside the workspace with a version 6 lock. */
async function plan(t: TestContext, environment: string, resources = 'gpus = 1'): Promise<Plan> {
  const folder = await temporaryFolder(t, {
    'updraft.toml': `name = "x"\n[train]\ncommand = "python t.py"\noutputs = ["m"]\n[environment]\n${environment}\n[resources]\n${resources}\n`,
  });
  await cp(path.join(workspaces, 'v6'), folder, { recursive: true });
  await writeFile(path.join(folder, 'env-1a2b3c4d.sh'), Buffer.alloc(4000));
  return await loadPlan(folder);
}

const gpu = 'pixi = "pixi.toml"\npixi_environment = "gpu"\n';

test('the job requests what the lock requires: driver, capability and disk', async (t) => {
  const { spec, environment, disk } = await plan(t, `${gpu}pack = "osdf:///x/env-1a2b3c4d.sh"`);
  assert.deepEqual(spec.resources.gpu, { cuda: '12.4', capability: 5 });
  assert.equal(spec.resources.memoryBytes, 2e9, 'unpacking needs no more than the default');
  assert.equal(environment?.delivery, 'pack');
  assert.equal(environment.facts?.torch?.build, 'gpu');
  assert.equal(disk.bytes, 1e9 + Math.round(4.5 * 1_059_768_940));
  assert.match(
    disk.why,
    /4\.8 GB for the software \(archive 1\.1 GB \+ its packages 1\.1 GB \+ unpacked 2\.6 GB/,
  );
});

test('the job file overrides what the lock requires', async (t) => {
  const asked = 'gpus = 1\nmemory = "1 GB"\ngpu = { capability = 8.0, cuda = "12.8" }';
  const { spec } = await plan(t, `${gpu}pack = "osdf:///x/env.sh"`, asked);
  assert.deepEqual(spec.resources.gpu, { cuda: '12.8', capability: 8 });
  assert.equal(spec.resources.memoryBytes, 1e9);
});

test('an image is used without unpacking, and needs less', async (t) => {
  const { spec, disk } = await plan(t, `${gpu}delivery = "container"\nimage = "osdf:///x/y.sif"`);
  assert.equal(spec.resources.memoryBytes, 2e9);
  assert.equal(disk.bytes, 1e9 + Math.round(1.2 * 1_059_768_940));
});

test('disk space used only for unpacking is available for the data', async (t) => {
  const data = '[data.d]\nurl = "osdf:///x/d.tar"\nexpect = { bytes = 9000000000 }\n';
  const folder = await temporaryFolder(t, {
    'updraft.toml': `name = "x"\n[train]\ncommand = "true"\noutputs = ["m"]\n[environment.pack]\nurl = "osdf:///x/env.tar"\nbytes = 1000000000\n[environment]\npixi_unpack = "pixi-unpack"\n${data}`,
    'pixi-unpack': '#!/bin/sh\n',
  });
  const { disk, files, data: sets } = await loadPlan(folder);
  assert.equal(disk.bytes - (files[0]?.bytes ?? 0), 1e9 + 2.5e9 + 9e9);
  assert.deepEqual(
    files.map((file) => file.path),
    ['pixi-unpack'],
  );
  assert.equal(sets.length, 1, 'the archive is not a data set');
});

test('an archive beside the job file is sent from here', async (t) => {
  const made = await plan(t, 'pack = "env-1a2b3c4d.sh"');
  const [pack] = fetchedBy(made);
  assert.match(pack?.url ?? '', /^file:\/\/\/.*\/env-1a2b3c4d\.sh$/);
  assert.equal(pack?.method, 'native');
  assert.equal(pack.expect.bytes, 4000);
});

test('a different lock makes a different plan', async (t) => {
  const first = await plan(t, `${gpu}pack = "osdf:///x/env.sh"`);
  const cpu = await plan(t, 'pixi = "pixi.toml"\npack = "osdf:///x/env.sh"', 'gpus = 0');
  assert.notEqual(first.planHash, cpu.planHash);
});

test('without a lock only the local pool falls back, and only if the job file allows it', async (t) => {
  const text = (pool: string, more: string): string =>
    `name = "x"\n[train]\ncommand = "true"\noutputs = ["m"]\n[environment]\npython = ["torch"]\n${gpu}${more}\n[run]\npool = "${pool}"\n`;
  const folder = await temporaryFolder(t, {
    'pixi.toml': '[workspace]\nchannels = []\nplatforms = ["linux-64"]\n',
  });
  const planned = async (pool: string, more: string): Promise<Plan> => {
    await writeFile(path.join(folder, 'updraft.toml'), text(pool, more));
    return await loadPlan(folder);
  };
  for (const software of ['delivery = "install"', 'image = "osdf:///x/y.sif"', 'pack = "osdf:///x/e.sh"']) {
    const { spec, environment } = await planned('local', `${software}\nfallback = "system"`);
    assert.deepEqual(spec.environment, { python: ['torch'], fallback: 'system' });
    assert.deepEqual(environment?.fallback, {
      why: 'pixi.lock does not exist',
      fix: 'write it with: updraft env lock',
      unlocked: path.join(folder, 'pixi.toml'),
    });
    const missing = /environment\.pixi: \S+pixi\.lock does not exist \(write it with: updraft env lock\)/;
    for (const pool of ['condor', 'slurm'])
      await assert.rejects(planned(pool, `${software}\nfallback = "system"`), missing);
    await assert.rejects(planned('local', software), missing);
  }
});

test('with a wrong lock no pool falls back', async (t) => {
  const lines = 'pixi = "pixi.toml"\npixi_environment = "gup"\ndelivery = "pack"\npack = "osdf:///x/e.sh"';
  await assert.rejects(plan(t, `${lines}\nfallback = "system"`), /no environment "gup"/);
});

test("an installation takes none of the job's disk, and is refused on pools without Pixi", async (t) => {
  const lines = 'pixi = "pixi.toml"\npixi_environment = "cpu"\ndelivery = "install"';
  const { disk, environment } = await plan(t, lines, '');
  assert.equal(disk.bytes, 1e9);
  assert.equal(environment?.facts?.torch?.build, 'cpu');
  const fallen = await plan(t, `${lines}\nfallback = "system"`, '');
  assert.equal(fallen.environment?.fallback?.why, 'pixi is not on the PATH');
  await assert.rejects(
    plan(t, lines, '[run]\npool = "condor"'),
    /environment\.delivery: "install" is for the pool "local": HTCondor has neither Pixi nor the workspace/,
  );
});

for (const [what, environment, message] of [
  [
    'a CPU build on a GPU job',
    'pixi = "pixi.toml"\npixi_environment = "cpu"\npack = "osdf:///x/e.sh"',
    /updraft\.toml:7:\d+: environment\.pixi_environment: "cpu" has a CPU build of PyTorch 2\.5\.1, and the job requests 1 GPU; expected one with a GPU build: "gpu"/,
  ],
  [
    'an unknown environment',
    'pixi = "pixi.toml"\npixi_environment = "gup"\npack = "osdf:///x/e.sh"',
    /environment\.pixi: .*no environment "gup"; did you mean "gpu"\?/,
  ],
  [
    'an unknown platform',
    `${gpu}platform = "linux-46"\npack = "osdf:///x/e.sh"`,
    /"linux-46" for the environment "gpu"; did you mean "linux-64"\?/,
  ],
  ['a missing manifest', 'pixi = "no.toml"\npack = "osdf:///x/e.sh"', /no\.toml cannot be read/],
  ['no delivery', gpu, /has no way to the worker; name an archive in `pack`/],
  [
    'a delivery without its archive',
    `${gpu}delivery = "pack"`,
    /"pack" needs the archive in `pack`; make one with: updraft env pack/,
  ],
  ['a delivery without its image', `${gpu}delivery = "container"`, /"container" needs the image/],
  ['an image and an archive', 'image = "x.sif"\npack = "env-1a2b3c4d.sh"', /an image is set too/],
  ['a missing archive', 'pack = "nowhere.sh"', /nowhere\.sh does not exist; make it with: updraft env pack/],
  ['a tar without pixi-unpack', 'pack = "osdf:///x/e.tar"', /"osdf:\/\/\/x\/e\.tar" is not self-extracting/],
  [
    'an unknown key of an archive',
    'pack = { url = "osdf:///x/e.sh", size = 3 }',
    /environment\.pack\.size: no such key; expected in \[environment\.pack\]: url, sha256, bytes, manifest/,
  ],
  ['an installation without its manifest', 'delivery = "install"', /"install" needs the manifest in `pixi`/],
  [
    'an installation beside an image',
    `${gpu}delivery = "install"\nimage = "x.sif"`,
    /is "install", but `image` names another environment/,
  ],
  ['a fallback without a manifest', 'fallback = "system"', /has no effect without `pixi`/],
  ['an environment without a manifest', 'pixi_environment = "gpu"', /has no effect without `pixi`/],
  ['an unknown delivery', `${gpu}delivery = "pak"`, /did you mean "pack"\?/],
] as const)
  test(`a job file with ${what} is refused at its line`, async (t) => {
    await assert.rejects(plan(t, environment), message);
  });
