import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAdLines, parseAdValue } from './classad.ts';

test('literals, lists and nested ads become values', () => {
  assert.equal(parseAdValue('"a \\"b\\" \\\\ c"'), 'a "b" \\ c');
  assert.equal(parseAdValue(' -1.5E+01 '), -15);
  assert.equal(parseAdValue('TRUE'), true);
  assert.equal(parseAdValue('undefined'), undefined);
  assert.deepEqual(parseAdValue('{ 1, "x", { } }'), [1, 'x', []]);
  assert.deepEqual(parseAdValue(`[ a = 1; 'b c' = [ d = "e;]" ]; ]`), { a: 1, 'b c': { d: 'e;]' } });
});

test('anything else stays an expression, whole', () => {
  for (const text of [
    'time()',
    'a =?= 1',
    '1 + 2',
    '{ GPUs_GPU_1 }',
    '[ a = b ]',
    '[ a 1 ]',
    '"open',
    '[',
    '{',
    '1.2.3',
    '',
    'truely',
  ])
    assert.deepEqual(parseAdValue(text), { expression: text });
  assert.deepEqual(parseAdValue('['.repeat(10_000)), { expression: '['.repeat(10_000) });
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
