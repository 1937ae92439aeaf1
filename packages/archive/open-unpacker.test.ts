import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { endBlocks, pax, tar, tarEntry } from '../../test/archives/make-tar.ts';
import { walkTree } from '@updraft/base/disk';
import { openUnpacker, type Unpacker } from './open-unpacker.ts';

const namesBelow = async (folder: string): Promise<string[]> =>
  (await walkTree(folder)).map(({ name }) => name);

const data = tar({ name: 'd/x', data: 'new' }, { name: 'd/sub/y', data: 'y' });

test('nothing appears in the target folder before the archive is complete', async (t) => {
  const { into, root } = scratch(t);
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
  await unpacker.write(data);
  assert.equal(existsSync(into), false);
  assert.deepEqual(await unpacker.finish(), { files: 2, bytes: 4, kind: 'tar', ended: 'end-blocks' });
  assert.equal(readFileSync(path.join(into, 'd/x'), 'utf8'), 'new');
  assert.deepEqual(readdirSync(root), ['into']);
});

test('while data arrives, each file and its hard links appear as soon as they are complete', async (t) => {
  const { into, root } = scratch(t);
  const archive = tar(
    { name: 'd/x', data: 'new' },
    { name: 'd/again', type: '1', link: 'd/x' },
    { name: 'd/sub/y', data: 'y'.repeat(600) },
    { name: 'd/link', type: '2', link: 'x' },
  );
  let parts = 0;
  const arriving = { stagedUnder: root, onPart: () => (parts += 1) };
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into, arriving });
  // Headers of two files and a link, and one block of data; then all but the last byte of the third file.
  await unpacker.write(archive.subarray(0, 4 * 512 + 599));
  assert.deepEqual(readdirSync(path.join(into, 'd')).sort(), ['again', 'x']);
  assert.equal(parts, 2);
  await unpacker.write(archive.subarray(4 * 512 + 599));
  assert.equal((await unpacker.finish()).files, 3);
  assert.deepEqual(readdirSync(path.join(into, 'd')).sort(), ['again', 'link', 'sub', 'x']);
  assert.equal(readFileSync(path.join(into, 'd/link'), 'utf8'), 'new');
  assert.deepEqual(readdirSync(root), ['into']);
});

test('two archives unpacked into one folder cannot combine links to escape from it', async (t) => {
  const up = tar({ name: 'x', data: 'x' }, { name: 'd/e', type: '2', link: '..' });
  for (const first of ['d/e/../..', 'd/e/..']) {
    const { into } = scratch(t);
    const early = tar({ name: 'a/x', data: 'x' }, { name: 'a/out', type: '2', link: `../${first}` });
    await assert.rejects(unpackAll(into, early), {
      kind: 'archive-unsafe',
      message: /not a folder|leads out/,
    });
  }
  const { into } = scratch(t);
  await unpackAll(into, up);
  for (const link of ['d/e/..', 'd/e/d/..', 'd/e/d/../..']) {
    const late = tar({ name: 'late', type: '2', link });
    await assert.rejects(unpackAll(into, late), {
      kind: 'archive-unsafe',
      message: /not a folder|leads out/,
    });
  }
  await unpackAll(into, tar({ name: 'late', type: '2', link: 'd/e/x' }));
  assert.equal(readFileSync(path.join(into, 'late'), 'utf8'), 'x');
});

test('arriving files are not published through a link that was there before', async (t) => {
  const { into, root } = scratch(t);
  mkdirSync(path.join(root, 'elsewhere'));
  mkdirSync(into);
  symlinkSync('../elsewhere', path.join(into, 'd'));
  const arriving = { stagedUnder: root, onPart: () => undefined };
  await assert.rejects(unpackAll(into, data, arriving), {
    kind: 'scratch-unusable',
    message: /into\/d already exists/,
  });
  assert.deepEqual(readdirSync(path.join(root, 'elsewhere')), []);
});

test('making many links yields to the event loop', async (t) => {
  const { into } = scratch(t);
  const links = Array.from({ length: 5000 }, (_, i) => ({ name: `l${i}`, type: '2', link: 'x' }));
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
  await unpacker.write(tar(...links));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await unpacker.finish();
  isOver = true;
  assert.ok(turns >= 10, `${turns}`);
});

test('while an archive of archives arrives, each folder appears only when it is complete', async (t) => {
  const { into, root } = scratch(t);
  const inner = (text: string): Buffer => tar({ name: '1.jpg', data: text }, { name: '2.jpg', data: text });
  const [first, second] = [inner('one'), inner('two')];
  const archive = tar({ name: 'n01.tar', data: first }, { name: 'n02.tar', data: second });
  const unpacker = openUnpacker({
    name: 'all.tar',
    mode: 'nested',
    into,
    arriving: { stagedUnder: root, onPart: () => undefined },
  });
  await unpacker.write(archive.subarray(0, 2 * 512 + first.length + second.length - 1));
  assert.deepEqual(await namesBelow(into), ['n01', 'n01/1.jpg', 'n01/2.jpg']);
  await unpacker.write(archive.subarray(2 * 512 + first.length + second.length - 1));
  await unpacker.finish();
  assert.deepEqual(readdirSync(into).sort(), ['n01', 'n02']);
  assert.deepEqual(readdirSync(root), ['into']);
});

test('a target folder several levels down is made only when the archive is complete', async (t) => {
  const { root } = scratch(t);
  const into = path.join(root, 'a/b/c');
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'tar', into });
  await unpacker.write(data);
  assert.equal(existsSync(path.join(root, 'a')), false);
  await unpacker.finish();
  assert.ok(existsSync(path.join(into, 'd/sub/y')));
});

test('existing files in the target folder are kept beside the new data', async (t) => {
  const { into } = scratch(t);
  mkdirSync(path.join(into, 'd/sub'), { recursive: true });
  writeFileSync(path.join(into, 'd/old'), 'old');
  await unpackInto(into);
  assert.deepEqual(await namesBelow(into), ['d', 'd/old', 'd/sub', 'd/sub/y', 'd/x']);
});

test('an existing file is not overwritten, and then nothing of the archive appears', async (t) => {
  const { into } = scratch(t);
  mkdirSync(path.join(into, 'd/sub'), { recursive: true });
  writeFileSync(path.join(into, 'd/sub/y'), 'precious');
  await assert.rejects(unpackInto(into), { kind: 'scratch-unusable', message: /d\/sub\/y already exists/ });
  assert.deepEqual(await namesBelow(into), ['d', 'd/sub', 'd/sub/y']);
  assert.equal(readFileSync(path.join(into, 'd/sub/y'), 'utf8'), 'precious');
});

test('a link in the target folder is not written through', async (t) => {
  const { into, root } = scratch(t);
  mkdirSync(into);
  mkdirSync(path.join(root, 'elsewhere'));
  symlinkSync('../elsewhere', path.join(into, 'd'));
  await assert.rejects(unpackInto(into), { kind: 'scratch-unusable', message: /into\/d already exists/ });
  assert.deepEqual(readdirSync(path.join(root, 'elsewhere')), []);
});

test('a target folder that is itself a link is followed', async (t) => {
  const { into, root } = scratch(t);
  mkdirSync(path.join(root, 'disk'));
  symlinkSync('disk', into);
  await unpackInto(into);
  assert.deepEqual(readdirSync(path.join(root, 'disk')), ['d']);
});

test('a target below a file is reported as unusable', (t) => {
  const { into } = scratch(t);
  writeFileSync(into, 'a file');
  assert.throws(() => openUnpacker({ name: 'data.tar', mode: 'auto', into: path.join(into, 'x') }), {
    kind: 'scratch-unusable',
  });
});

test(
  'a folder without write permission is reported as unusable',
  { skip: isRoot() && 'root may write everywhere' },
  (t) => {
    const { into, root } = scratch(t);
    chmodSync(root, 0o500);
    assert.throws(() => openUnpacker({ name: 'data.tar', mode: 'auto', into }), { kind: 'scratch-unusable' });
  },
);

test('abort removes everything at any time, even when called twice, and later bytes are refused', async (t) => {
  for (const bytes of [data, gzipSync(data)])
    for (const until of [0, 100, 513, bytes.length]) {
      const { into, root } = scratch(t);
      const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
      await unpacker.write(bytes.subarray(0, until));
      await unpacker.abort();
      await unpacker.abort();
      assert.deepEqual(readdirSync(root), []);
      assert.throws(() => unpacker.write(bytes), { kind: 'interrupted' });
      await assert.rejects(unpacker.finish(), { kind: 'interrupted' });
    }
});

test('abort during a write leaves nothing behind', async (t) => {
  const { into, root } = scratch(t);
  const unpacker = openUnpacker({ name: 'data.tar.gz', mode: 'auto', into });
  const writing = Promise.resolve(unpacker.write(gzipSync(data))).catch(() => undefined);
  await unpacker.abort();
  await writing;
  assert.deepEqual(readdirSync(root), []);
});

test('abort after finish keeps the data', async (t) => {
  const { into } = scratch(t);
  const unpacker = await unpackInto(into);
  await unpacker.abort();
  assert.ok(existsSync(path.join(into, 'd/x')));
});

test('later calls throw the first failure again', async (t) => {
  const { into } = scratch(t);
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
  assert.throws(() => unpacker.write(tar({ name: '../x', data: 'x' })), { kind: 'archive-unsafe' });
  assert.throws(() => unpacker.write(data), { kind: 'archive-unsafe' });
  await assert.rejects(unpacker.finish(), { kind: 'archive-unsafe' });
});

test('setuid, setgid and sticky bits are dropped, and the owner can always read and write', async (t) => {
  const { into } = scratch(t);
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
  await unpacker.write(
    tar(
      { name: 'd', type: '5', mode: 0o1500 },
      { name: 'd/suid', mode: 0o6755, data: 'x' },
      { name: 'd/none', mode: 0, data: 'x' },
    ),
  );
  await unpacker.finish();
  const mode = (name: string): number => lstatSync(path.join(into, name)).mode & 0o7777;
  assert.equal(mode('d') & 0o7700, 0o700);
  assert.equal(mode('d/suid') & 0o7700, 0o700);
  assert.equal(mode('d/none') & 0o7700, 0o600);
});

test('files and folders get the time the archive states', async (t) => {
  const { into } = scratch(t);
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
  await unpacker.write(
    tar(
      { name: 'd', type: '5', mtime: 1_600_000_000, mode: 0o755 },
      { name: 'd/x', data: 'x', mtime: 1_500_000_000 },
    ),
  );
  await unpacker.finish();
  assert.equal(lstatSync(path.join(into, 'd')).mtimeMs, 1.6e12);
  assert.equal(lstatSync(path.join(into, 'd/x')).mtimeMs, 1.5e12);
});

test('a file of more than 8 GiB, declared by pax, that ends early is named with the missing bytes', (t) => {
  const { into } = scratch(t);
  const size = 9 * 2 ** 30;
  const unpacker = openUnpacker({ name: 'big.tar', mode: 'auto', into });
  void unpacker.write(tarEntry({ type: 'x', data: pax({ size: String(size) }) }));
  void unpacker.write(tarEntry({ name: 'big', size: 0, data: '' }));
  void unpacker.write(Buffer.alloc(1 << 20, 1));
  return assert.rejects(unpacker.finish(), {
    kind: 'archive-damaged',
    message: /9,662,627,840 bytes short of the end of the file "big"/,
  });
});

test('a tar without end blocks is unpacked, and the result says so', async (t) => {
  const { into } = scratch(t);
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
  await unpacker.write(data.subarray(0, -endBlocks.length));
  assert.equal((await unpacker.finish()).ended, 'no-end-blocks');
});

async function unpackInto(into: string): Promise<Unpacker> {
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into });
  await unpacker.write(data);
  await unpacker.finish();
  return unpacker;
}

function scratch(t: TestContext): { root: string; into: string } {
  const root = mkdtempSync(path.join(tmpdir(), 'updraft-unpack-'));
  t.after(() => {
    chmodSync(root, 0o700);
    rmSync(root, { recursive: true, force: true });
  });
  return { root, into: path.join(root, 'into') };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

async function unpackAll(
  into: string,
  archive: Buffer,
  arriving?: { stagedUnder: string; onPart: () => unknown },
): Promise<void> {
  const unpacker = openUnpacker({ name: 'data.tar', mode: 'auto', into, ...(arriving && { arriving }) });
  try {
    await unpacker.write(archive);
    await unpacker.finish();
  } finally {
    await unpacker.abort();
  }
}
