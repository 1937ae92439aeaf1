import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkTargets } from './director.ts';

test('links are sorted by pri, those without one last', () => {
  const header =
    '<https://c/x>; rel="duplicate"; depth=2, <https://b/x>; rel="duplicate"; pri=2; depth=2, <https://a/x>; pri=1';
  assert.deepEqual(linkTargets(header), ['https://a/x', 'https://b/x', 'https://c/x']);
});

test('commas and semicolons inside a target or a quoted value are not separators', () => {
  const header =
    '<https://a/x,y;z=1>; title="a, \\"b\\"; <c>"; pri=2,<https://b/x,y;z=1>;pri="1",<https://c/>; title="<"';
  assert.deepEqual(linkTargets(header), ['https://b/x,y;z=1', 'https://a/x,y;z=1', 'https://c/']);
});

test('more than nine links keep numeric order', () => {
  const header = Array.from({ length: 12 }, (_, i) => `<https://s${12 - i}/>; pri=${12 - i}`).join(', ');
  assert.deepEqual(linkTargets(header).slice(-2), ['https://s11/', 'https://s12/']);
});

test('malformed links yield what can be read and never fail', () => {
  assert.deepEqual(linkTargets(''), []);
  assert.deepEqual(linkTargets('no link here; pri=1'), []);
  assert.deepEqual(linkTargets('<unfinished; pri=1'), []);
  assert.deepEqual(linkTargets('<https://a/>; pri=x; ;;; =, <https://b/>; pri=1; flag'), [
    'https://b/',
    'https://a/',
  ]);
});
