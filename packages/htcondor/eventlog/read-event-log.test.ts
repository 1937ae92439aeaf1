import assert from 'node:assert/strict';
import { appendFile, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { Fault } from '../fault.ts';
import { logSources } from './log-sources.ts';
import { readEventLog, scanEventLog } from './read-event-log.ts';

const event = (proc: number) =>
  `006 (001.${proc}.000) 2026-11-15 00:11:44 Image size of job updated: ${proc}\n\t7  -  MemoryUsage of job (MB)\n...\n`;

test('a log longer than a piece is read whole, with its garbled parts and its details, either way', async (t) => {
  const folder = await temporaryFolder(t);
  const log = path.join(folder, 'long.log');
  const count = 30_000;
  await appendFile(log, `noise\n${Array.from({ length: count }, (_, proc) => event(proc)).join('')}`);
  const garbled: string[] = [];
  let next = 0;
  for await (const each of readEventLog(log, { onGarbled: (part) => garbled.push(part.text) })) {
    assert.equal(each.proc, next);
    assert.ok(each.kind === 'image-size');
    assert.equal(each.details.memoryUsageMb, 7);
    next += 1;
  }
  assert.equal(next, count);
  assert.deepEqual(garbled, ['noise\n']);
  let scanned = 0;
  await scanEventLog(log, ({ whole }) => (scanned += Number(whole)));
  assert.equal(scanned, count);
});

test('dates without a year end at the date of the file', async (t) => {
  const folder = await temporaryFolder(t, {
    'old.log': '011 (1.0.0) 12/31 10:00:00 Job was unsuspended.\n...\n',
  });
  const log = path.join(folder, 'old.log');
  await utimes(log, new Date('2019-01-05'), new Date('2019-01-05'));
  for await (const { time } of readEventLog(log, { offsetMinutes: 0 }))
    assert.equal(time, Date.UTC(2018, 11, 31, 10));
});

test('a missing log and a folder are faults that name it', async (t) => {
  const folder = await temporaryFolder(t);
  for (const [name, message] of [
    [path.join(folder, 'none.log'), /none\.log does not exist/],
    [folder, /is not a file/],
  ] as const) {
    await assert.rejects(readEventLog(name).next(), (error) => {
      assert.ok(error instanceof Fault && error.kind === 'file-invalid' && error.about === name);
      assert.match(error.message, message);
      return true;
    });
  }
});

test('reading stops when its signal aborts', async (t) => {
  const folder = await temporaryFolder(t, { 'a.log': event(1) });
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(readEventLog(path.join(folder, 'a.log'), { signal }).next(), /enough/);
});

test('a log in XML or JSON, or with such events between others, is refused by name; in a folder it is left out and named', async (t) => {
  const xml = '<c>\n    <a n="Cluster"><i>5</i></a>\n    <a n="EventTypeNumber"><i>9</i></a>\n</c>\n';
  const json = '{\n  "Proc": 0,\n  "EventTypeNumber": 0\n}\n';
  const folder = await temporaryFolder(t, {
    'xml.log': xml.repeat(3),
    'mixed.log': event(0) + xml + event(1),
    'json.log': json.repeat(3),
    'mixed.json': event(0) + json + event(1),
    'logs/a.log': event(0),
    'logs/b.log': xml,
    'only/b.log': xml,
  });
  const isRefused = (error: unknown): boolean =>
    error instanceof Fault &&
    error.kind === 'file-invalid' &&
    /\.(?:log|json) has events in (?:XML|JSON), which Updraft does not read/.test(error.message) &&
    /(?:log_xml|names).*condor_history -l CLUSTER/.test(error.fix ?? '');
  for (const name of ['xml.log', 'mixed.log', 'json.log', 'mixed.json'])
    await assert.rejects(
      scanEventLog(path.join(folder, name), () => undefined),
      isRefused,
      name,
    );
  await assert.rejects(logSources(['only'], { cwd: folder }), isRefused);
  const [log, ...more] = await logSources(['logs'], { cwd: folder });
  assert.deepEqual([log?.name, log?.unread, more], ['logs/a.log', ['logs/b.log'], []]);
});

test('a log that cannot be decompressed, or is in UTF-16, is refused by name with what to do', async (t) => {
  const folder = await temporaryFolder(t, { 'whole.log': event(0).repeat(99) });
  const whole = gzipSync(event(0).repeat(99));
  await writeFile(path.join(folder, 'cut.log.gz'), whole.subarray(0, -9));
  await writeFile(path.join(folder, 'a.log.xz'), Buffer.from('fd377a585a000004e6d6b446', 'hex'));
  await writeFile(path.join(folder, 'a.log.bz2'), Buffer.from('425a683931415926', 'hex'));
  await writeFile(path.join(folder, 'wide.log'), Buffer.from(`\ufeff${event(0)}`, 'utf16le'));
  for (const [name, message, fix] of [
    ['cut.log.gz', /cut\.log\.gz is cut or damaged/, /gzip -dc .*cut\.log\.gz \| updraft report -/],
    ['a.log.xz', /is compressed by xz, which Updraft does not read/, /xz -dc .*a\.log\.xz \|/],
    ['a.log.bz2', /is compressed by bzip2, which Updraft does not read/, /bzip2 -dc .*a\.log\.bz2 \|/],
    ['wide.log', /wide\.log is in UTF-16/, /iconv -f UTF-16/],
  ] as const)
    await assert.rejects(
      scanEventLog(path.join(folder, name), () => undefined),
      (error) => error instanceof Fault && message.test(error.message) && fix.test(error.fix ?? ''),
      name,
    );
  const [log] = await logSources(['.'], { cwd: folder });
  assert.deepEqual([log?.name, log?.unread?.length], ['whole.log', 4]);
});
