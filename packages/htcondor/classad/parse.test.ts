import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attributeOf, Expression, isAd, formatAd, type Ad, type AdValue } from './ad.ts';
import { parseAdLines, parseAds, parseAdValue } from './parse.ts';

test('consecutive ads are read, with or without space between them', () => {
  const ads = parseAds(
    '[ Url = "osdf:///a"; LocalFileName = "/s/a" ][LocalFileName="/s/b";Url="osdf:///b";]\n[ ]',
  );
  assert.deepEqual(ads, [
    { Url: 'osdf:///a', LocalFileName: '/s/a' },
    { LocalFileName: '/s/b', Url: 'osdf:///b' },
    {},
  ]);
});

test('nested ads, lists, numbers, booleans and expressions are read', () => {
  const [ad] = parseAds(
    '[ PluginData = [ a = { 1, -2.5e3, "][", [ b = true ] }; c = UNDEFINED ]; Size = ifThenElse(x > 3, "];[", {4}[0]);' +
      ' \'odd name\' = FALSE; Url = "osdf:///z" ]',
  );
  const nested = ad === undefined ? undefined : attributeOf(ad, 'plugindata');
  assert.ok(isAd(nested));
  const list = attributeOf(nested, 'a') as AdValue[];
  assert.deepEqual(list.slice(0, 3), [1, -2500, '][']);
  assert.equal(attributeOf(list[3] as Ad, 'B'), true);
  assert.deepEqual(ad?.['Size'], new Expression('ifThenElse(x > 3, "];[", {4}[0])'));
  assert.equal(ad['odd name'], false);
  assert.equal(ad['Url'], 'osdf:///z');
});

test('escapes in strings are decoded, octal bytes as UTF-8', () => {
  const [ad] = parseAds(String.raw`[ A = "say \"x\" \\ \t\n\303\251\057"; B = "${'é'}" ]`);
  assert.deepEqual(ad, { A: 'say "x" \\ \t\né/', B: 'é' });
});

test('text that is not a ClassAd is refused with the position', () => {
  for (const [text, place] of [
    ['[ Url = "open', /character 8/],
    ['[ Url "x" ]', /'Name =' at character 2/],
    ['[ a = 1; b ]', /expected/],
    ['nonsense', /'\[' at character 0/],
    ['[ a = (1 ; b = 2 ]', /expected/],
    ['[a='.repeat(5000), /expected/],
  ] as const)
    assert.throws(() => parseAds(text), { kind: 'order-invalid', message: place }, text.slice(0, 30));
});

test('literals, lists and nested ads become values', () => {
  assert.equal(parseAdValue('"a \\"b\\" \\\\ c"'), 'a "b" \\ c');
  assert.equal(parseAdValue(' -1.5E+01 '), -15);
  assert.equal(parseAdValue('TRUE'), true);
  assert.equal(parseAdValue('undefined'), undefined);
  assert.deepEqual(parseAdValue('{ 1, "x", { } }'), [1, 'x', []]);
  assert.deepEqual(parseAdValue(`[ a = 1; 'b c' = [ d = "e;]" ]; ]`), { a: 1, 'b c': { d: 'e;]' } });
});

test('anything else is kept as an expression, even in a list or an ad', () => {
  for (const text of ['time()', 'a =?= 1', '1 + 2', '[ a 1 ]', '"open', '[', '{', '1.2.3', '', 'truely'])
    assert.deepEqual(parseAdValue(text), new Expression(text));
  assert.deepEqual(parseAdValue('{ GPUs_GPU_1 }'), [new Expression('GPUs_GPU_1')]);
  assert.deepEqual(parseAdValue('[ a = b; expression = "c" ]'), { a: new Expression('b'), expression: 'c' });
  assert.deepEqual(parseAdValue('['.repeat(10_000)), new Expression('['.repeat(10_000)));
});

test('lines that are not attributes are skipped', () => {
  assert.deepEqual(parseAdLines(['\tCpus = 1', 'nonsense', '\tSlotName: x', 'A.b = "c = d"', '']), {
    Cpus: 1,
    'A.b': 'c = d',
  });
});

test('strings are read by their syntax: HTCondor wrote the same batch name in both', () => {
  const name = 'café "x" \\ y';
  assert.deepEqual(parseAdValue(String.raw`[ JobBatchName = "caf\303\251 \"x\" \\ y" ]`), {
    JobBatchName: name,
  });
  assert.deepEqual(
    parseAdLines([String.raw`JobBatchName = "caf${'é'} \"x\" \ y"`, String.raw`Iwd = "C:\new"`]),
    {
      JobBatchName: name,
      Iwd: String.raw`C:\new`,
    },
  );
});

const value: fc.Memo<AdValue> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean())
    : fc.oneof(fc.array(value(depth - 1), { maxLength: 3 }), ads(depth - 1), value(1)),
);
const ads: fc.Memo<Ad> = fc.memo((depth) =>
  fc
    .dictionary(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/), value(depth), { maxKeys: 4 })
    .map((attributes) => ({ ...attributes })),
);

test('formatted ads are parsed back unchanged', () => {
  fc.assert(
    fc.property(fc.array(ads(3), { maxLength: 3 }), (many) => {
      const text = many.map(formatAd).join('');
      // HTCondor's strings cannot hold a NUL.
      fc.pre(!text.includes('\\040'));
      assert.deepEqual(parseAds(text), many);
    }),
    { numRuns: 200 },
  );
});

test('the lenient parser never fails, and agrees with the strict one', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), ads(2).map(formatAd)), (text) => {
      const lenient = parseAdValue(text);
      if (isAd(lenient)) assert.deepEqual(parseAds(text), [lenient]);
    }),
    { numRuns: 500 },
  );
});
