import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attributeOf, Expression, isAd, formatAd, type Ad, type AdValue } from './ad.ts';
import { parseAdLines, parseAds, parseAdValue } from './parse.ts';

test('ads are read one after the other with nothing between them', () => {
  const ads = parseAds(
    '[ Url = "osdf:///a"; LocalFileName = "/s/a" ][LocalFileName="/s/b";Url="osdf:///b";]\n[ ]',
  );
  assert.deepEqual(ads, [
    { Url: 'osdf:///a', LocalFileName: '/s/a' },
    { LocalFileName: '/s/b', Url: 'osdf:///b' },
    {},
  ]);
});

test('nested ads, lists, numbers, truths and expressions stand beside what is wanted', () => {
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

test('escapes in strings are undone, octal bytes as UTF-8', () => {
  const [ad] = parseAds(String.raw`[ A = "say \"x\" \\ \t\n\303\251\057"; B = "é" ]`);
  assert.deepEqual(ad, { A: 'say "x" \\ \t\né/', B: 'é' });
});

test('what is no ClassAd is refused with the place', () => {
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

test('anything else stays an expression, whole, in a list or an ad too', () => {
  for (const text of ['time()', 'a =?= 1', '1 + 2', '[ a 1 ]', '"open', '[', '{', '1.2.3', '', 'truely'])
    assert.deepEqual(parseAdValue(text), new Expression(text));
  assert.deepEqual(parseAdValue('{ GPUs_GPU_1 }'), [new Expression('GPUs_GPU_1')]);
  assert.deepEqual(parseAdValue('[ a = b; expression = "c" ]'), { a: new Expression('b'), expression: 'c' });
  assert.deepEqual(parseAdValue('['.repeat(10_000)), new Expression('['.repeat(10_000)));
});

test('lines that are no attributes are left out', () => {
  assert.deepEqual(parseAdLines(['\tCpus = 1', 'nonsense', '\tSlotName: x', 'A.b = "c = d"', '']), {
    Cpus: 1,
    'A.b': 'c = d',
  });
});

test('strings are read by the syntax they are in, as HTCondor wrote them of one and the same batch name', () => {
  const name = 'café "x" \\ y';
  assert.deepEqual(parseAdValue(String.raw`[ JobBatchName = "caf\303\251 \"x\" \\ y" ]`), {
    JobBatchName: name,
  });
  assert.deepEqual(parseAdLines([String.raw`JobBatchName = "café \"x\" \ y"`, String.raw`Iwd = "C:\new"`]), {
    JobBatchName: name,
    Iwd: String.raw`C:\new`,
  });
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

test('what is written can be read again', () => {
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

test('no text makes the lenient reader fail, and what it reads is what the strict one reads', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), ads(2).map(formatAd)), (text) => {
      const lenient = parseAdValue(text);
      if (isAd(lenient)) assert.deepEqual(parseAds(text), [lenient]);
    }),
    { numRuns: 500 },
  );
});
