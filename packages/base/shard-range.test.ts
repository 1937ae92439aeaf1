import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstShard, shardRange } from './shard-range.ts';

test('a range of shards stands for its numbered URLs, as in WebDataset', () => {
  assert.deepEqual(shardRange('osdf:///set/train-{0009..0011}.tar'), [
    'osdf:///set/train-0009.tar',
    'osdf:///set/train-0010.tar',
    'osdf:///set/train-0011.tar',
  ]);
  assert.deepEqual(shardRange('https://h/{8..10}.tar?x=1'), [
    'https://h/8.tar?x=1',
    'https://h/9.tar?x=1',
    'https://h/10.tar?x=1',
  ]);
  assert.deepEqual(shardRange('osdf:///set/train-{2..1}.tar'), []);
  assert.equal(firstShard('osdf:///set/train-{0009..0011}.tar'), 'osdf:///set/train-0009.tar');
});

test('other URLs are no ranges', () => {
  for (const url of ['osdf:///set/train.tar', 'osdf:///{1..2}/train.tar', 'osdf:///set/{seed}.tar', 'a{1..}'])
    assert.equal(shardRange(url), undefined, url);
  assert.equal(firstShard('osdf:///set/train.tar'), 'osdf:///set/train.tar');
});
