import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { walkFiles } from '@updraft/base/disk';

const root = path.resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'bench/README.md',
];
const docs = (await walkFiles(path.join(root, 'docs')))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

/** The link anchors of a page's headings. */
const anchors = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

for (const page of [...pages, ...docs])
  test(`${page}: every page, section and picture it links to exists`, () => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
    const broken = links.filter(([, file = '', anchor]) => {
      const target = file === '' ? page : path.join(path.dirname(page), file);
      if (!existsSync(path.join(root, target))) return true;
      return anchor !== undefined && !anchors(target).includes(anchor);
    });
    assert.deepEqual(
      broken.map(([link]) => link),
      [],
    );
  });

test('docs/README.md links to every page', () => {
  const index = read('docs/README.md');
  const missing = docs.filter((page) => !index.includes(`](${page.replace('docs/', '')})`));
  assert.deepEqual(missing, ['docs/README.md']);
});

test('package, citation and changelog name the same version and date', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const citation = parse(read('CITATION.cff')) as { version: string; 'date-released': string };
  const released = /^## (\d\S*) - (\S+)$/m.exec(read('CHANGELOG.md'));
  assert.deepEqual([citation.version, citation['date-released']], released?.slice(1));
  assert.equal(citation.version, version);
});

test('the pictures are small', () => {
  for (const name of readdirSync(path.join(root, 'docs/pictures')))
    assert.ok(statSync(path.join(root, 'docs/pictures', name)).size < 150_000, name);
});
