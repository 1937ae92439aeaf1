import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { eventLogs, renderLog } from './render-log.ts';

const logs = readdirSync(eventLogs).filter((name) => name.endsWith('.log'));
const golden = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'));

test('every real log has an explanation that was read by a person', () => {
  assert.deepEqual(
    golden.map((name) => name.replace(/\.txt$/, '.log')),
    logs,
  );
});

for (const log of logs)
  test(`${log} is explained as its raw events tell`, () => {
    const expected = path.join(import.meta.dirname, log.replace(/\.log$/, '.txt'));
    assert.equal(renderLog(log), readFileSync(expected, 'utf8'));
  });
