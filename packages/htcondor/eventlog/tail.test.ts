import assert from 'node:assert/strict';
import { appendFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { stamps } from '../../../test/eventlogs/plain.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { systemClock } from '@updraft/base';
import { EventLogTail, followEventLog } from './tail.ts';

const event = (proc: number) =>
  `006 (001.${proc}.000) 2026-11-15 00:11:44 Image size of job updated: ${proc}\n\t7  -  MemoryUsage of job (MB)\n...\n`;

/** A tail of `job.log`, and what each read gives: process numbers of events, and notices. */
async function tailOf(t: TestContext) {
  const log = path.join(await temporaryFolder(t), 'job.log');
  let said: (number | string)[] = [];
  const tail = new EventLogTail(log, {
    ...stamps,
    onEvent: ({ proc, whole }) => said.push(whole ? proc : `cut ${proc}`),
    onGarbled: ({ text }) => said.push(`garbled ${text}`),
    onNotice: (notice) => said.push(notice),
  });
  const look = async () => {
    said = [];
    await tail.read();
    return said;
  };
  return { log, look };
}

test('a growing log gives each event once, when it is complete', async (t) => {
  const { log, look } = await tailOf(t);
  assert.deepEqual(await look(), []);
  await appendFile(log, event(1) + event(2).slice(0, 50));
  assert.deepEqual(await look(), [1]);
  assert.deepEqual(await look(), []);
  await appendFile(log, event(2).slice(50, -1));
  assert.deepEqual(await look(), []);
  await appendFile(log, `\n${event(3)}`);
  assert.deepEqual(await look(), [2, 3]);
});

test('a log that shrank is read again from its beginning', async (t) => {
  const { log, look } = await tailOf(t);
  await appendFile(log, event(1) + event(2) + event(3).slice(0, 30));
  assert.deepEqual(await look(), [1, 2]);
  await truncate(log, 0);
  assert.deepEqual(await look(), ['shrank']);
  await appendFile(log, event(4));
  assert.deepEqual(await look(), [4]);
});

test('a log truncated and grown again between two reads is noticed', async (t) => {
  const { log, look } = await tailOf(t);
  await appendFile(log, event(1));
  assert.deepEqual(await look(), [1]);
  await truncate(log, 0);
  await appendFile(log, event(2) + event(3));
  assert.deepEqual(await look(), ['shrank', 2, 3]);
});

test('a log replaced by another, longer or equally long, is noticed', async (t) => {
  const { log, look } = await tailOf(t);
  await appendFile(log, event(1) + event(2));
  assert.deepEqual(await look(), [1, 2]);
  await writeFile(`${log}.new`, event(4) + event(5));
  await rename(`${log}.new`, log);
  assert.deepEqual(await look(), ['replaced', 4, 5]);
});

test('a log that disappears is read from its start when it is back', async (t) => {
  const { log, look } = await tailOf(t);
  await appendFile(log, event(1));
  assert.deepEqual(await look(), [1]);
  await rm(log);
  assert.deepEqual(await look(), []);
  await appendFile(log, event(2));
  assert.deepEqual(await look(), ['replaced', 2]);
});

test('following ends with the reason of its signal, after the events until then', async (t) => {
  const log = path.join(await temporaryFolder(t), 'job.log');
  await writeFile(log, event(1));
  const stop = new AbortController();
  const seen: number[] = [];
  const followed = followEventLog(log, {
    ...stamps,
    clock: systemClock,
    signal: stop.signal,
    onEvent: ({ proc }) => {
      seen.push(proc);
      if (proc === 2) stop.abort(new Error('enough'));
      else void appendFile(log, event(2));
    },
  });
  await assert.rejects(followed, /enough/);
  assert.deepEqual(seen, [1, 2]);
});
