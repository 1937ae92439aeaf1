import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import * as why from '../../src/cli/commands/why.ts';
import type { Explanation } from '@updraft/account/why';
import { accessPoint, job } from '../adopt/access-point.ts';
import { runCommand } from '../cli/run-command.ts';
import { ownPool } from '../condor/own-pool.ts';
import { testPool } from '../pool.ts';

test('a job that is held for a missing credential runs once that is stored and the advised command is run', async (t) => {
  const shared = await testPool(t);
  if (shared === undefined) return;
  const pool = await ownPool(t, shared.root, [
    'SEC_CREDENTIAL_DIRECTORY_OAUTH = $(LOCAL_DIR)/credentials',
    'TRUST_CREDENTIAL_DIRECTORY = true',
  ]);
  const here = await accessPoint(t, pool.state);
  if (here === undefined) return;
  const lines = [...job('/bin/sh', 'job.log'), 'arguments = "-c \'grep -q stored $_CONDOR_CREDS/mine.use\'"'];
  const cluster = await here.submit('job', [...lines, '+OAuthServicesNeeded = "mine"', 'queue']);
  await here.held('job.log', 1);

  const { out } = await runCommand(why, ['--json', 'job.log'], { cwd: here.folder, env: {} });
  const [explained] = (JSON.parse(out) as { jobs: Explanation[] }).jobs;
  assert.equal(explained?.cause, 'credential-missing');
  const advice = explained.advice.join('\n');
  assert.match(advice, new RegExp(`: condor_release ${cluster}\\.0 `));
  assert.doesNotMatch(advice, /submit/);

  const owner = await here.tool('condor_q', cluster, '-af', 'Owner');
  const folder = path.join(pool.home, 'credentials', owner);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'mine.use'), 'stored\n');
  await chmod(path.join(folder, 'mine.use'), 0o600);
  await here.tool('condor_release', `${cluster}.0`);
  await here.ended('job.log');
  assert.deepEqual([here.attempts('job.log'), here.hasEnded('job.log')], [1, true]);
});
