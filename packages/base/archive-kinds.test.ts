import assert from 'node:assert/strict';
import { test } from 'node:test';
import { archiveKind, splitArchiveName } from './archive-kinds.ts';

test('the ending of a name gives the kind of archive, whatever its case', () => {
  const kinds = {
    'train.tar': 'tar',
    'a.TGZ': 'tar.gz',
    'a.tar.gz': 'tar.gz',
    'a.tar.zst': 'tar.zst',
    'a.txz': 'tar.xz',
    'a.tbz2': 'tar.bz2',
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
