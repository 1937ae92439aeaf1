import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Attempt } from '../attempt.ts';
import { scratchAt } from '../scratch.ts';
import { CheckpointSaver } from './checkpoint-saver.ts';

test('a training that has neither saved nor reported anything is not asked for a checkpoint', async (t) => {
  const folder = await temporaryFolder(t);
  const scratch = scratchAt(folder);
  await mkdir(scratch.work);
  const clock = new ManualClock();
  const attempt = {
    order: {
      attempt: 1,
      attemptFolder: path.join(folder, 'job', 'attempt-1'),
      job: { train: { checkpoint: 'ckpt' } },
    },
    scratch,
    context: { clock, restartFolder: folder, poolCleans: 'always' },
    record: () => undefined,
  } as unknown as Attempt;
  const saver = await CheckpointSaver.open(attempt, 'code');
  assert.ok(saver !== undefined);
  saver.onStart();
  saver.onEntry({ kind: 'progress', firstEpoch: 0, epochs: 9 });
  await clock.pass(62_000);
  assert.equal(saver.isDue(60_000), false, 'it may still be importing');
  saver.onEntry({ kind: 'progress', epoch: 1 });
  assert.equal(saver.isDue(60_000), true);
  saver.onStart();
  await clock.pass(62_000);
  assert.equal(saver.isDue(60_000), false, 'it has just been started again');
});
