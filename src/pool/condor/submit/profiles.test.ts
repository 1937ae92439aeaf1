import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { makePlanFrom } from '../../../../test/check/facts.ts';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { CondorTools } from '../tools/condor-tools.ts';
import { durationClass, findLimits, findProfile, profileNamed } from './profiles.ts';

/** An access point whose configuration has these settings. */
async function accessPoint(t: TestContext, settings: Record<string, string>): Promise<CondorTools> {
  const cases = Object.entries(settings).map(([name, value]) => `${name}) echo '${value}' ;;`);
  const script = `#!/bin/sh\ncase "$1" in\n${cases.join('\n')}\n*) exit 1 ;;\nesac\n`;
  const folder = await temporaryFolder(t, { condor_submit: '', condor_config_val: script });
  for (const name of ['condor_submit', 'condor_config_val']) await chmod(path.join(folder, name), 0o755);
  return await CondorTools.find({ PATH: folder });
}

test("an access point's own limit on input overrides the profile's", async (t) => {
  const own = await accessPoint(t, {
    MAX_TRANSFER_INPUT_MB: '2000',
    COLLECTOR_HOST: 'cm-1.ospool.osg-htc.org',
  });
  const { name, nativeInputBytes } = await findLimits(undefined, { tools: own, env: {} });
  assert.deepEqual([name, nativeInputBytes], ['ospool', 2000 * 2 ** 20]);
});

test("without its own limit, or with -1, the profile's applies", async (t) => {
  for (const settings of [{}, { MAX_TRANSFER_INPUT_MB: '-1' }]) {
    const tools = await accessPoint(t, settings);
    assert.equal((await findLimits('ospool', { tools, env: {} })).nativeInputBytes, 5000 * 2 ** 20);
    assert.equal((await findLimits(undefined, { tools, env: {} })).nativeInputBytes, undefined);
  }
});

test('a job gets the shortest duration class it fits in, a GPU job one for GPUs where there are such', async () => {
  const of = async (resources: string, pool: string) =>
    durationClass(makePlanFrom(`[resources]\n${resources}\n`), await profileNamed(pool, {}))?.name;
  assert.equal(await of('time = "9h"', 'ospool'), 'Medium');
  assert.equal(await of('time = "11h"', 'ospool'), 'Long');
  assert.equal(await of('time = "21h"', 'ospool'), undefined);
  assert.equal(await of('gpus = 1', 'chtc'), 'short');
  assert.equal(await of('time = "1h"', 'htcondor'), undefined);
});

const campus = `
title = "the campus pool"
like = "ospool"
hosts = ["cm.campus.edu"]
advice = ["GPUs are free at night: ask for at most 12 hours"]

[limits]
file = "200 MB"

[durations]
attribute = "CampusLength"
classes = [{ name = "night", within = "12h" }]
`;

test('a file adds a pool, is found by its hosts, and changes what it names of the one it is like', async (t) => {
  const home = await temporaryFolder(t, { '.config/updraft/pools/campus.toml': campus });
  const env = { HOME: home };
  const named = await findProfile('campus', { tools: undefined, env });
  assert.equal(named.title, 'the campus pool');
  assert.deepEqual(named.durations, [{ name: 'night', seconds: 12 * 3600 }]);
  assert.deepEqual([named.nativeFileBytes, named.recommendedObjectBytes], [200e6, 10e9]);
  assert.deepEqual([named.wantsProject, named.maxIdle], [true, 2000]);
  const tools = await accessPoint(t, { COLLECTOR_HOST: 'CM.campus.edu:9618' });
  assert.equal((await findProfile(undefined, { tools, env })).name, 'campus');
  assert.equal((await findProfile(undefined, { tools, env: {} })).name, 'htcondor');
});

test("a user's file of a known name changes only what it names", async (t) => {
  const home = await temporaryFolder(t, { '.config/updraft/pools/chtc.toml': '[limits]\nidle = 7\n' });
  const { maxIdle, gpuDurationAttribute } = await profileNamed('chtc', { HOME: home });
  assert.deepEqual([maxIdle, gpuDurationAttribute], [7, 'GPUJobLength']);
});

test('what is wrong with a file is said with its place', async (t) => {
  const wrong = async (text: string): Promise<string> => {
    const home = await temporaryFolder(t, { '.config/updraft/pools/campus.toml': text });
    const error = await profileNamed('campus', { HOME: home }).catch((one: unknown) => one);
    assert.ok(error instanceof Error);
    return error.message.replaceAll(home, '~');
  };
  const file = '~/.config/updraft/pools/campus.toml';
  assert.match(
    await wrong('title = "x"\n[limits]\nfiles = "1 GB"\n'),
    /campus\.toml:3:1: limits\.files: no such key; .*did you mean "file"/,
  );
  assert.equal(
    await wrong('title = "x"\n[limits]\nfile = 5\n'),
    `${file}:3:8: limits.file: is 5 without a unit; add a unit: expected a size with a unit, like "16 GB" or "512 MiB" (did you mean "5 GB"?)`,
  );
  assert.equal(await wrong('like = "ospol"\n'), 'there is no pool profile "ospol", which "campus" is like');
  assert.match(await wrong('like = "campus"\nnonsense'), /campus\.toml:2:/);
  await assert.rejects(profileNamed('chtk', {}), { fix: /did you mean "chtc"\?.*chtk\.toml/ });
});
