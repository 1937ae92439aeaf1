import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { ReaderFiles } from './shard-stream.ts';

async function opened(t: TestContext, before: Record<string, string> = {}) {
  const folder = await temporaryFolder(t, before);
  const files = new ReaderFiles(path.join(folder, 'data'), path.join(folder, 'hint.json'));
  files.publish({ shards: [], keep: null });
  const write = async (name: string, value: unknown): Promise<void> => {
    const file = path.join(folder, 'data/.stream', name);
    await writeFile(`${file}.new`, typeof value === 'string' ? value : JSON.stringify(value));
    await rename(`${file}.new`, file);
  };
  const reader = (epoch: number, position: number, waited = 0, pid = process.pid) => ({
    epoch,
    position,
    waited,
    pid,
  });
  return { folder, files, write, reader };
}

test('the lowest place of the living readers of this epoch counts', async (t) => {
  const { folder, files, write, reader } = await opened(t);
  assert.equal(
    await readFile(path.join(folder, 'data/.stream/list.json'), 'utf8'),
    '{"format":1,"shards":[],"keep":null}\n',
  );
  assert.equal(files.poll(), undefined);
  await write('wanted.json', { format: 1, epoch: 2, order: [4, 0, 7], block: 2 });
  assert.deepEqual(
    { ...files.poll(), version: '' },
    { order: [4, 0, 7], block: 2, position: 0, version: '' },
  );
  await write('at/1.json', reader(2, 2));
  await write('at/2.json', reader(2, 1));
  await write('at/3.json', reader(1, 0));
  await write('at/4.json', reader(2, 0, 0, 2 ** 22 + 1));
  const first = files.poll();
  assert.equal(first?.position, 1);
  assert.equal(files.poll()?.version, first.version);
  await write('at/2.json', reader(2, 2));
  assert.notEqual(files.poll()?.version, first.version);
});

test('where no reader lives, they are in another container, and all count', async (t) => {
  const { files, write, reader } = await opened(t);
  await write('wanted.json', { epoch: 0, order: [1, 2, 3], block: 1 });
  await write('at/1.json', reader(0, 2, 0, 2 ** 22 + 1));
  assert.equal(files.poll()?.position, 2);
});

test('of what readers waited, the longest of each epoch counts', async (t) => {
  const { files, write, reader } = await opened(t);
  files.poll();
  assert.equal(files.waited, undefined);
  for (const [first, second] of [
    [reader(0, 0, 1), reader(0, 0, 3)],
    [reader(0, 1, 2), reader(0, 1, 3)],
    // The first is a process that goes on, the second a new one.
    [reader(1, 0, 2.5), reader(1, 0, 0)],
    [reader(1, 1, 4), reader(1, 1, 1)],
  ]) {
    await write('at/1.json', first);
    await write(`at/2-${second?.epoch ?? ''}.json`, second);
    files.poll();
  }
  assert.equal(files.waited, 3 + 2);
});

test('a training that starts again is known by its hint, and nothing else of before', async (t) => {
  const { folder, files, write, reader } = await opened(t);
  await write('wanted.json', { epoch: 0, order: [1, 2], block: 1 });
  await write('at/1.json', reader(0, 1, 9));
  files.poll();
  await writeFile(path.join(folder, 'hint.json'), JSON.stringify({ epoch: 0, order: [2], block: 1 }));
  files.restart();
  assert.deepEqual([files.poll()?.order, files.poll()?.position, files.waited], [[2], 0, undefined]);
});

test('a file that is damaged changes nothing', async (t) => {
  const { files, write } = await opened(t);
  await write('wanted.json', { epoch: 0, order: [1, 2], block: 1 });
  files.poll();
  for (const text of ['{', '[]', '{"epoch": 0, "order": [-1], "block": 1}']) {
    await write('wanted.json', text);
    await write('at/1.json', text);
    assert.deepEqual(files.poll()?.order, [1, 2]);
  }
});
