import assert from 'node:assert/strict';
import { test } from 'node:test';
import { archiveKind, isArchiveName, repacking, splitArchiveName } from './archive-kinds.ts';

test('the ending of a name gives the kind of archive, whatever its case', () => {
  const kinds = {
    'train.tar': 'tar',
    'a.TGZ': 'tar.gz',
    'a.tar.gz': 'tar.gz',
    'a.tar.zst': 'tar.zst',
    'a.zip': 'zip',
  };
  for (const [name, kind] of Object.entries(kinds)) assert.equal(archiveKind(name), kind, name);
});

test('other names give no kind', () => {
  for (const name of ['a', 'a.gz', 'a.bz2', 'tar', '.tar', 'a.tar/b', 'model.pt'])
    assert.equal(archiveKind(name), undefined, name);
});

test('the folder for an inner archive is its name without the ending', () => {
  assert.deepEqual(splitArchiveName('sub/n01.tar.gz'), { stem: 'sub/n01', kind: 'tar.gz' });
});

test('archives by xz and bzip2 are no kind, but archives: a line repacks each', () => {
  for (const [name, line] of [
    ['https://h/sets/a.tar.xz', 'xz -dc a.tar.xz | zstd -T0 > a.tar.zst'],
    ["it's.TXZ", String.raw`xz -dc 'it'\''s.TXZ' | zstd -T0 > 'it'\''s.tar.zst'`],
    ['a.tar.bz2', 'bzip2 -dc a.tar.bz2 | zstd -T0 > a.tar.zst'],
    ['b.tbz', 'bzip2 -dc b.tbz | zstd -T0 > b.tar.zst'],
  ] as const) {
    assert.equal(repacking(name)?.fix, `repack it: ${line}`);
    assert.deepEqual([archiveKind(name), isArchiveName(name)], [undefined, true]);
  }
  for (const name of ['a.xz', '.tar.xz', 'a.tar.gz']) assert.equal(repacking(name), undefined, name);
});
