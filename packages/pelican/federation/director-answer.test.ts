import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLinkHeader } from './director.ts';

const targets = (header: string): string[] => parseLinkHeader(header).map((link) => link.target);

test('links are sorted by pri, those without one last', () => {
  const header =
    '<https://c/x>; rel="duplicate"; depth=2, <https://b/x>; rel="duplicate"; pri=2; depth=2, <https://a/x>; pri=1';
  assert.deepEqual(targets(header), ['https://a/x', 'https://b/x', 'https://c/x']);
  assert.deepEqual(parseLinkHeader(header)[1]?.parameters, { rel: 'duplicate', pri: '2', depth: '2' });
});

test('commas and semicolons inside a target or a quoted value are not separators', () => {
  const [first, second] = parseLinkHeader(
    '<https://a/x,y;z=1>; title="a, \\"b\\"; <c>"; pri=1,<https://b/x,y;z=1>;pri="2"',
  );
  assert.deepEqual(first, { target: 'https://a/x,y;z=1', parameters: { title: 'a, "b"; <c>', pri: '1' } });
  assert.deepEqual(second, { target: 'https://b/x,y;z=1', parameters: { pri: '2' } });
});

test('more than nine links keep numeric order', () => {
  const header = Array.from({ length: 12 }, (_, i) => `<https://s${12 - i}/>; pri=${12 - i}`).join(', ');
  assert.deepEqual(targets(header).slice(-2), ['https://s11/', 'https://s12/']);
});

test('malformed links yield what can be read and never fail', () => {
  assert.deepEqual(parseLinkHeader(''), []);
  assert.deepEqual(parseLinkHeader('no link here; pri=1'), []);
  assert.deepEqual(parseLinkHeader('<unfinished; pri=1'), []);
  assert.deepEqual(targets('<https://a/>; pri=x; ;;; =, <https://b/>; pri=1; flag'), [
    'https://b/',
    'https://a/',
  ]);
});
