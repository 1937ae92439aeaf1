import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { reportHtml, sortScript, sortScriptHash } from './page-html.ts';
import { sectionTable } from '../document/document.ts';

test("the page's policy allows its script, and no other", () => {
  assert.equal(sortScriptHash, `sha256-${createHash('sha256').update(sortScript).digest('base64')}`);
});

test('columns that are empty in all rows are left out of a page', () => {
  const rows = [
    ['a', '', '1'],
    ['b', '', ''],
  ];
  const html = reportHtml({
    title: 'x',
    sections: [sectionTable('jobs', 'Jobs', 'job | site | tries>', rows)],
    charts: [],
    report: { verdict: null, notes: [] },
  });
  assert.doesNotMatch(html, /site/);
  assert.match(html, /<th scope="row">a<\/th><td class="right">1<\/td>/);
});
