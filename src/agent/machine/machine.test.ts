import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { readWorker } from '../plugin/plugin-args.ts';
import { describeMachine } from './machine.ts';

test('agent and plugin name the site as the event log does, whatever the environment says', async (t) => {
  const place = async (machine: string): Promise<(string | undefined)[]> => {
    const ad = path.join(await temporaryFolder(t, { machine }), 'machine');
    const env = { _CONDOR_MACHINE_AD: ad, OSG_SITE_NAME: 'Campus' };
    return [describeMachine(env).site, readWorker(env).site];
  };
  assert.deepEqual(await place('glidein_site = "S"\nGLIDEIN_ResourceName = "R"\n'), ['R', 'R']);
  assert.deepEqual(await place('GLIDEIN_Site = "S"\n'), ['S', 'S']);
  assert.deepEqual(await place('Machine = "m"\n'), ['Campus', undefined]);
});

test('outside of HTCondor the environment may name the site', () => {
  assert.equal(describeMachine({ GLIDEIN_ResourceName: '', OSG_SITE_NAME: 'Campus' }).site, 'Campus');
  assert.equal(describeMachine({}).site, undefined);
});
