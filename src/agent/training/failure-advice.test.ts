import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '@updraft/account/fault';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { withAdvice } from './failure-advice.ts';

test('a folder that is not there is named with its neighbors', async (t) => {
  const work = await temporaryFolder(t, { 'data/train/a.png': '', 'data/val/b.png': '' });
  const failed = new Fault('training-failed', 'the training failed');
  const said = async (line: string): Promise<Fault> => await withAdvice(failed, ['Traceback', line], work);
  const wrong = await said("FileNotFoundError: [Errno 2] No such file or directory: 'data/trainn/cats'");
  assert.equal(wrong.message, 'the training failed; data has train, val');
  assert.match(wrong.fix ?? '', /did you mean data\/train\?/);
  const empty = await said(`FileNotFoundError: Couldn't find any class folder in ${work}/data.`);
  assert.match(empty.message, /; data has train, val$/);
  const none = await said("FileNotFoundError: No such file or directory: 'images'");
  assert.match(none.message, /; the work folder has data$/);
  assert.match(none.fix ?? '', /^if images is beside the job file, add it to `files` in \[train\]/);
  assert.doesNotMatch(wrong.fix ?? '', /`files`/);
  for (const line of ["No such file or directory: '/etc/nowhere'", 'ValueError: bad'])
    assert.equal(await said(line), failed);
});

test('a damaged shard is a fault of the data, not of the script', async () => {
  const failed = new Fault('training-failed', 'the training failed', { fix: 'fix the script' });
  const damaged = 'data/train-0003.tar is damaged, or no tar, at byte 512: wrong checksum of a header';
  const lines = [
    'updraft.StreamError: Caught StreamError in DataLoader worker process 0.',
    'Original Traceback (most recent call last):',
    `updraft.StreamError: ${damaged}`,
  ];
  const fault = await withAdvice(failed, lines, '/');
  assert.equal(fault.kind, 'archive-damaged');
  assert.equal(fault.message, damaged);
  assert.match(fault.fix ?? '', /make that shard again/);
  const other = await withAdvice(failed, ['updraft.StreamError: data has no tar shards'], '/');
  assert.equal(other.kind, 'training-failed');
  assert.match(other.message, /data has no tar shards$/);
});
