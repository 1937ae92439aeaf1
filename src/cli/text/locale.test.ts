import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUtf8, toAscii } from './glyphs.ts';

test('the locale is the first of the three variables that is set', () => {
  assert.equal(isUtf8({ LC_ALL: '', LC_CTYPE: 'en_US.UTF-8', LANG: 'C' }), true);
  assert.equal(isUtf8({ LC_ALL: 'C', LANG: 'en_US.UTF-8' }), false);
  assert.equal(isUtf8({}), false);
});

test('marks of Updraft become ASCII of the same width, and names stay', () => {
  assert.equal(toAscii('run café · it’s cut …'), "run café - it's cut ~");
});
