import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sectionsMarkdown } from './markdown.ts';
import { documentText } from './text.ts';
import { sectionsLatex } from './latex.ts';
import { sectionTable } from './document.ts';

test('every character of a cell is printed as itself, or as its symbol', () => {
  const cells = [
    'a_b & 5 % # $ {x}',
    '< 1 | > 2',
    '3 ≥ 2 ≤ 4',
    '1–2 — 3',
    '[x]',
    '*y',
    '∞ ± × ~ ^ \\',
    `--a ''b'' "c" \`d`,
  ];
  const latex = sectionsLatex([
    { id: 't', title: 'A_1 < B', columns: [{ title: 'x' }], rows: cells.map((cell) => [cell]) },
  ]);
  for (const line of [
    String.raw`\caption{A\_1 \textless{} B}`,
    String.raw`a\_b \& 5 \% \# \$ \{x\} \\`,
    String.raw`\textless{} 1 \textbar{} \textgreater{} 2 \\`,
    String.raw`3 $\geq$ 2 $\leq$ 4 \\`,
    String.raw`1--2 --- 3 \\`,
    String.raw`{[}x] \\`,
    String.raw`{*}y \\`,
    String.raw`$\infty$ $\pm$ $\times$ \textasciitilde{} \textasciicircum{} \textbackslash{} \\`,
    String.raw`-{}-a '{}'b'{}' \texttt{\symbol{34}}c\texttt{\symbol{34}} \textasciigrave{}d \\`,
  ])
    assert.ok(latex.includes(line), `${line}\n${latex}`);
});

test('columns without any value are in no table for a paper', () => {
  const [head, rows] = [[{ title: 'site' }, { title: 'gpu' }, { title: 'n' }], [['a', '', '1']]];
  const section = { id: 't', title: 't', columns: head, rows };
  assert.match(sectionsLatex([section]), /\{ll\}\n.*\n +site & n /);
  assert.match(sectionsMarkdown('r', [section]), /\| site \| n \|\n\| --- \| --- \|\n\| a \| 1 \|/);
});

test('a heading with line breaks or control characters stays one line of text', () => {
  const head = [{ title: '' }, { title: 'a\nb\t\u001b[31mc', align: 'right' as const }];
  const glyphs = { done: '', running: '', failed: '', idle: '' };
  const text = documentText([{ id: 't', title: 't', columns: head, rows: [['x', '1']] }], 80, { glyphs });
  assert.equal(text.trimEnd().split('\n').length, 3);
  assert.doesNotMatch(text, /[\t\u001b]/);
});

test('a section without rows is a comment, not an empty table', () => {
  const empty = sectionsLatex([sectionTable('gpu', 'GPU time', 'site | n>', [], { after: ['No value.'] })]);
  assert.match(empty, /\n\n% GPU time\n% No value\.$/);
});
