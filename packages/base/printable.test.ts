import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { printable, printableLines, safeOutput } from './printable.ts';

test('characters that control a terminal or hide text are replaced', () => {
  for (const text of ['\x1b[2J', '\x9b31m', '\x07', '\x7f', '\u202egnp.exe', '\u200bx', '\u2066x'])
    assert.doesNotMatch(printable(text), /[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069]/);
});

test('bidirectional and invisible marks are replaced, and escaped in JSON', () => {
  for (const mark of ['\u00ad', '\u061c', '\u180e', '\u206a', '\ufff9', '\u{e0041}']) {
    assert.equal(printable(`a${mark}b`), 'a\ufffdb');
    const json = safeOutput(JSON.stringify(`a${mark}b`), true);
    assert.match(json, /^[\x20-\x7e]+$/);
    assert.equal(JSON.parse(json), `a${mark}b`);
  }
});

test('plain text of any language is unchanged, on one line', () => {
  assert.equal(printable('größe 训练 🚀 ok'), 'größe 训练 🚀 ok');
  assert.equal(printable('two\nlines\tand\r\nmore'), 'two lines and more');
});

test('in multi-line text, only line ends, tabs and carriage returns are kept', () => {
  assert.equal(printableLines('a\tb\r\nc\x1b[1m\n'), 'a\tb\r\nc\ufffd[1m\n');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.doesNotMatch(printableLines(text), /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
    }),
  );
});
