import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { makePlanFrom } from '../../../../test/check/facts.ts';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { CondorTools } from '../tools/condor-tools.ts';
import { condorProfiles, durationClass, findLimits } from './profiles.ts';

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
  const { name, nativeInputBytes } = await findLimits(undefined, own);
  assert.deepEqual([name, nativeInputBytes], ['ospool', 2000 * 2 ** 20]);
});

test("without its own limit, or with -1, the profile's applies", async (t) => {
  for (const settings of [{}, { MAX_TRANSFER_INPUT_MB: '-1' }]) {
    const tools = await accessPoint(t, settings);
    assert.equal((await findLimits('ospool', tools)).nativeInputBytes, 5000 * 2 ** 20);
    assert.equal((await findLimits(undefined, tools)).nativeInputBytes, undefined);
  }
});

test('a job gets the shortest duration class it fits in, a GPU job one for GPUs where there are such', () => {
  const of = (resources: string, pool: 'ospool' | 'chtc' | 'htcondor') =>
    durationClass(makePlanFrom(`[resources]\n${resources}\n`), condorProfiles[pool])?.name;
  assert.equal(of('time = "9h"', 'ospool'), 'Medium');
  assert.equal(of('time = "11h"', 'ospool'), 'Long');
  assert.equal(of('time = "21h"', 'ospool'), undefined);
  assert.equal(of('gpus = 1', 'chtc'), 'short');
  assert.equal(of('time = "1h"', 'htcondor'), undefined);
});
