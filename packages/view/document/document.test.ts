import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentHtml } from '../html/document-html.ts';
import { type Document, groupedProblems, joinPages } from './document.ts';
import { documentText } from './text.ts';

const why: Document = [
  { title: '12.3 held: the transfer stalled' },
  '',
  {
    facts: [
      ['why', 'No byte came for `10 min`.', { place: 'err.txt:', lines: ['  raise <Stop>'], isCode: true }],
      ['log', { place: 'a.log, byte 18', lines: ['012 Job was held.', '      Code 13   Subcode 2'] }],
      ['now'],
    ],
    indent: '',
  },
];

test('facts stand beside their labels, quoted lines below their place; a label without texts is not shown', () => {
  assert.deepEqual(documentText(why, 80).split('\n'), [
    '12.3 held: the transfer stalled',
    '',
    'why  No byte came for `10 min`.',
    '     err.txt:',
    '       raise <Stop>',
    'log  a.log, byte 18',
    '       012 Job was held.',
    '             Code 13   Subcode 2',
    '',
  ]);
});

test('on a narrow page code is cut, and other lines are wrapped', () => {
  const lines = [`  ${'x'.repeat(60)}`, 'Stop: too many words for a page as narrow as this one is'];
  const page: Document = [{ facts: [['why', { place: 'e:', lines, isCode: true }]], indent: '' }];
  const [, code = '', ...rest] = documentText(page, 40).trimEnd().split('\n');
  assert.match(code, /^ {7}x+…$/);
  assert.deepEqual(rest, ['       Stop: too many words for a page', '         as narrow as this one is']);
});

test('a rule with one place stands beside it, with several above them; lines to write are not broken', () => {
  const at = (place: string) => ({ place, lines: ['queue 3'], message: 'too few' });
  const fix = 'request_memory = 4 GB and whatever else this long line has to say\nqueue 4';
  const one = documentText([{ rule: 'memory', at: [at('a.sub:2')], fix }], 40);
  assert.deepEqual(one.trimEnd().split('\n'), [
    '  a.sub:2  memory',
    '      | queue 3',
    '      too few',
    `      fix: ${fix.split('\n')[0]}`,
    '          queue 4',
  ]);
  const two = documentText([{ rule: 'memory', at: [at('a.sub:2'), at('b:12')], fix: 'more' }], 40);
  assert.deepEqual(two.trimEnd().split('\n').slice(0, 4), [
    '  memory',
    '      a.sub:2  too few',
    '      | queue 3',
    '      b:12     too few',
  ]);
});

test('groups of problems and pages are separated by an empty line; a group without problems is a sentence', () => {
  const finding = { place: 'a:1', rule: 'r', lines: [], message: 'm', fix: 'f' };
  const groups = [
    { level: 'error', title: 'errors', findings: [finding] },
    { level: 'note', title: 'also', findings: [] },
  ];
  const page = groupedProblems(groups);
  assert.equal(documentText(page, 80), '\nerrors\n  a:1  r\n      m\n      fix: f\n\nalso\n');
  assert.equal(documentText(joinPages([['a'], ['b']]), 80), 'a\n\nb\n');
});

test('as markup, every text is escaped, and a title below another says how bad it is', () => {
  const markup = documentHtml([...why, { title: 'errors', level: 'error' }]);
  assert.match(
    markup,
    /^<h2>12\.3 held: the transfer stalled<\/h2><h3>why<\/h3><p>No byte came for <code>10 min<\/code>/,
  );
  assert.match(markup, /<p class="place">err\.txt:<\/p><pre> {2}raise &lt;Stop&gt;<\/pre>/);
  assert.match(markup, /<h3 data-level="error">errors<\/h3>$/);
  assert.doesNotMatch(markup, /<h3>now/);
});
