import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportMarkdown } from './report-text.ts';
import { sectionsLatex } from './section-latex.ts';

test('every character of a cell is printed as itself, or as its symbol', () => {
  const cells = ['a_b & 5 % # $ {x}', '< 1 | > 2', '3 ≥ 2 ≤ 4', '1–2 — 3', '[x]', '∞ ± × ~ ^ \\'];
  const latex = sectionsLatex([
    { id: 't', title: 'A_1 < B', head: [{ title: 'x' }], rows: cells.map((cell) => [cell]) },
  ]);
  for (const line of [
    String.raw`\caption{A\_1 \textless{} B}`,
    String.raw`a\_b \& 5 \% \# \$ \{x\} \\`,
    String.raw`\textless{} 1 \textbar{} \textgreater{} 2 \\`,
    String.raw`3 $\geq$ 2 $\leq$ 4 \\`,
    String.raw`1--2 --- 3 \\`,
    String.raw`{[}x] \\`,
    String.raw`$\infty$ $\pm$ $\times$ \textasciitilde{} \textasciicircum{} \textbackslash{} \\`,
  ])
    assert.ok(latex.includes(line), `${line}\n${latex}`);
});

test('columns without any value are in no table for a paper', () => {
  const [head, rows] = [[{ title: 'site' }, { title: 'gpu' }, { title: 'n' }], [['a', '', '1']]];
  const section = { id: 't', title: 't', head, rows };
  assert.match(sectionsLatex([section]), /\{ll\}\n.*\n +site & n /);
  assert.match(reportMarkdown('r', [section]), /\| site \| n \|\n\| --- \| --- \|\n\| a \| 1 \|/);
});
