import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { eventLogs, explainText, renderLog } from './render-log.ts';

const logs = readdirSync(eventLogs).filter((name) => name.endsWith('.log'));
const golden = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'));

test('every real log has a golden explanation', () => {
  assert.deepEqual(
    golden.map((name) => name.replace(/\.txt$/, '.log')),
    logs,
  );
});

for (const log of logs)
  test(`${log} has its golden explanation`, () => {
    const expected = path.join(import.meta.dirname, log.replace(/\.log$/, '.txt'));
    assert.equal(renderLog(log), readFileSync(expected, 'utf8'));
  });

test('a log cut anywhere, or with lines missing, is explained without an error', () => {
  for (const log of logs) {
    const text = readFileSync(path.join(eventLogs, log), 'latin1');
    for (let part = 1; part < 8; part++) {
      const cut = Math.floor((text.length * part) / 8);
      for (const damaged of [
        text.slice(0, cut),
        text.slice(cut),
        text.replaceAll(/\n[^\n]*[aeiou]\n/g, '\n'),
      ])
        for (const { title, because } of explainText(damaged))
          assert.ok(title !== '' && because.length > 0, log);
    }
  }
});
