import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { shortenDistinct, shortNames } from './shorten.ts';
import { widthOf } from '@updraft/base';

const shortened = (texts: string[], width: number): string[] => texts.map(shortenDistinct(width, texts));

test('what fits stays as it is', () => {
  assert.deepEqual(shortened(['a/b', 'a/c'], 3), ['a/b', 'a/c']);
});

test('paths are shortened to their last parts', () => {
  assert.deepEqual(shortened(['google/bert_uncased_L-2', 'bert-base-uncased'], 20), [
    'bert_uncased_L-2',
    'bert-base-uncased',
  ]);
  assert.deepEqual(shortened(['s3://bucket/a/x.tar', 's3://bucket/b/x.tar'], 12), ['a/x.tar', 'b/x.tar']);
});

test('a name has as few of its last parts as no other name ends with', () => {
  const names = ['model.encoder.depth', 'model.optimizer.lr', 'scheduler.lr', 'seed'];
  assert.deepEqual(shortNames(names), ['depth', 'optimizer.lr', 'scheduler.lr', 'seed']);
  assert.deepEqual(shortNames(['lr', 'model.lr', 'a.model.lr']), ['lr', 'model.lr', 'a.model.lr']);
  assert.deepEqual(shortNames(['a.lr', 'a.lr', '']), ['lr', 'lr', '']);
});

test('texts are cut where they are the same', () => {
  const [start, end] = ['python train.py --lr ', ' --epochs 90 --out model.pt'];
  assert.deepEqual(shortened([`${start}0.1${end}`, `${start}0.01${end}`], 20), ['…0.1…', '…0.01…']);
  assert.deepEqual(shortened(['alphabetical-one', 'beta-something-two'], 12), [
    'alphab…l-one',
    'beta-s…g-two',
  ]);
});

test('what has words is read from its beginning, and what fits is not cut beside what does not', () => {
  const values = ['optim=adam lr=0.1 wd=0.01', 'optim=adam lr=0.01 wd=0.01', 'optim=sgd'];
  assert.deepEqual(shortened(values, 20), ['optim=adam lr=0.1 w…', 'optim=adam lr=0.01 …', 'optim=sgd']);
  const long = ['x', 'y'].map((end) => `${'a'.repeat(9)}${end}${'b'.repeat(9)}`);
  assert.deepEqual(shortened([...long, 'hello', 'ababab'], 6), ['aaa…#1', 'aaa…#2', 'hello', 'ababab']);
});

test('different texts stay different, whatever they are', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 30 }),
      fc.integer({ min: 6, max: 40 }),
      (texts, width) => {
        const short = shortened(texts, width);
        assert.equal(new Set(short).size, texts.length);
        for (const text of short) assert.ok(widthOf(text) <= width, text);
      },
    ),
  );
});
