import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { Fault } from '@updraft/account/fault';
import { unfinishedJobs } from './rounds.ts';

test('an adopted run is not retried: only its owner knows its results and how to submit it', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'condor'));
  await writeFile(path.join(folder, 'condor', 'job.sub'), 'queue\n');
  await assert.rejects(
    unfinishedJobs(folder, []),
    (error) => error instanceof Fault && error.kind === 'usage' && /condor_submit/.test(error.fix ?? ''),
  );
});
