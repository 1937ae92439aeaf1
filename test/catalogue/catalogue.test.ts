import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

const failures = 21;

test('each failure of the catalogue, F1 to F21, has a test that causes it', async () => {
  const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.test.ts'));
  const texts = await Promise.all(
    files.map((name) => readFile(path.join(import.meta.dirname, name), 'utf8')),
  );
  const named = new Set(texts.flatMap((text) => text.match(/(?<=^\s*(?:test\(|\[)['"])F\d+(?=: )/gm) ?? []));
  assert.deepEqual(
    [...named].sort((one, other) => Number(one.slice(1)) - Number(other.slice(1))),
    Array.from({ length: failures }, (_, index) => `F${index + 1}`),
  );
});
