import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Ad, attributeOf, showAd, type AdValue, type Expression } from './classad.ts';
import { readAds } from './read-ads.ts';

const read = (text: string): Ad[] => readAds(Buffer.from(text));
const plain = (ad: Ad | undefined): Record<string, AdValue> => Object.fromEntries(ad?.attributes ?? []);

test('ads are read one after the other with nothing between them', () => {
  const ads = read(
    '[ Url = "osdf:///a"; LocalFileName = "/s/a" ][LocalFileName="/s/b";Url="osdf:///b";]\n[ ]',
  );
  assert.deepEqual(ads.map(plain), [
    { Url: 'osdf:///a', LocalFileName: '/s/a' },
    { LocalFileName: '/s/b', Url: 'osdf:///b' },
    {},
  ]);
});

test('nested ads, lists, numbers, truths and expressions stand beside what is wanted', () => {
  const [ad] = read(
    '[ PluginData = [ a = { 1, -2.5e3, "][", [ b = true ] }; c = UNDEFINED ]; Size = ifThenElse(x > 3, "];[", {4}[0]);' +
      ' \'odd name\' = FALSE; Url = "osdf:///z" ]',
  );
  const nested = ad === undefined ? undefined : attributeOf(ad, 'plugindata');
  assert.ok(nested instanceof Ad);
  const list = attributeOf(nested, 'a') as AdValue[];
  assert.deepEqual(list.slice(0, 3), [1, -2500, '][']);
  assert.equal(attributeOf(list[3] as Ad, 'B'), true);
  assert.equal((plain(ad)['Size'] as Expression).text, 'ifThenElse(x > 3, "];[", {4}[0])');
  assert.equal(plain(ad)['odd name'], false);
  assert.equal(plain(ad)['Url'], 'osdf:///z');
});

test('escapes in strings are undone, octal bytes as UTF-8', () => {
  const [ad] = read(String.raw`[ A = "say \"x\" \\ \t\n\303\251\057"; B = "é" ]`);
  assert.deepEqual(plain(ad), { A: 'say "x" \\ \t\né/', B: 'é' });
});

test('what is no ClassAd is refused with the place', () => {
  for (const [text, place] of [
    ['[ Url = "open', /byte 8/],
    ['[ Url "x" ]', /'Name =' at byte 2/],
    ['[ a = 1; b ]', /expected/],
    ['nonsense', /'\[' at byte 0/],
    ['[ a = (1 ; b = 2 ]', /expected/],
    ['[a='.repeat(5000), /expected/],
  ] as const)
    assert.throws(() => read(text), { kind: 'order-invalid', message: place }, text.slice(0, 30));
});

const value: fc.Memo<AdValue> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean())
    : fc.oneof(fc.array(value(depth - 1), { maxLength: 3 }), ads(depth - 1), value(1)),
);
const ads: fc.Memo<Ad> = fc.memo((depth) =>
  fc
    .dictionary(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/), value(depth), { maxKeys: 4 })
    .map((attributes) => new Ad(attributes)),
);

test('what is written can be read again', () => {
  fc.assert(
    fc.property(fc.array(ads(3), { maxLength: 3 }), (many) => {
      const text = many.map(showAd).join('');
      // HTCondor's strings cannot hold a NUL.
      fc.pre(!text.includes('\\040'));
      assert.deepEqual(readAds(Buffer.from(text)), many);
    }),
    { numRuns: 200 },
  );
});
