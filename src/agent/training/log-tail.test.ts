import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { WorkOrder } from '../../job/job.ts';
import { lastErrorLines, LogTail } from './log-tail.ts';

function logFile(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'updraft-tail-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return path.join(folder, 'out.log');
}

test('returns each line once, when it is complete', (t) => {
  const file = logFile(t);
  const tail = new LogTail(file);
  assert.deepEqual(tail.read(), { lines: [], grown: false });
  writeFileSync(file, 'one\ntw');
  assert.deepEqual(tail.read(), { lines: ['one'], grown: true });
  assert.equal(tail.rest(), 'tw');
  appendFileSync(file, 'o\r 50%\r100%\n');
  assert.deepEqual(tail.read(), { lines: ['two', ' 50%', '100%'], grown: true });
  assert.deepEqual(tail.read(), { lines: [], grown: false });
});

test('of a flood of output only the end is read', (t) => {
  const file = logFile(t);
  const tail = new LogTail(file, false, 60_000);
  writeFileSync(file, `${'step 1234567\n'.repeat(100_000)}last\n`);
  const { lines } = tail.read();
  assert.equal(lines.at(-1), 'last');
  assert.ok(lines.join('').length < 70_000);
  assert.deepEqual(new Set(lines), new Set(['step 1234567', 'last']), 'no line without its beginning');
});

test('what comes faster than it is read is read part by part', (t) => {
  const file = logFile(t);
  const tail = new LogTail(file, false, Infinity);
  writeFileSync(file, 'ä line of 20 bytes!\n'.repeat(1_000_000));
  let lines = 0;
  for (let part = tail.read(); part.grown; part = tail.read())
    lines += part.lines.filter((line) => line === 'ä line of 20 bytes!').length;
  assert.equal(lines, 1_000_000);
});

test('a truncated log is read from its start', (t) => {
  const file = logFile(t);
  const tail = new LogTail(file);
  writeFileSync(file, 'a long first line\n');
  tail.read();
  writeFileSync(file, 'new\n');
  assert.deepEqual(tail.read().lines, ['new']);
});

test('the last lines have all of the exceptions that follow from each other, and else few', (t) => {
  const file = logFile(t).replace('out.log', 'err.log');
  const order = { attemptFolder: path.dirname(file) } as WorkOrder;
  const trace = (frames: number, error: string): string[] => [
    'Traceback (most recent call last):',
    ...Array.from({ length: frames }, (_, at) => `  File "train.py", line ${at + 1}, in main\n    step()`),
    error,
  ];
  const follows = 'The above exception was the direct cause of the following exception:';
  const chain = [...trace(3, 'OSError: no such host'), '', follows, '', ...trace(20, 'Lost: see above')];
  const before = Array.from({ length: 50 }, (_, at) => `step ${at}`);
  writeFileSync(file, [...before, ...chain, ''].join('\n'));
  const lines = lastErrorLines(order);
  assert.deepEqual([lines[0], lines.at(-1)], ['Traceback (most recent call last):', 'Lost: see above']);
  assert.ok(lines.includes('OSError: no such host') && !lines.includes('step 49'));
  writeFileSync(file, [...chain, ...before, ''].join('\n'));
  assert.deepEqual(lastErrorLines(order), before.slice(-12));
});
