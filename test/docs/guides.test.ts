import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { walkFiles } from '@updraft/base/disk';
import { ExampleHarness } from '../examples/example-harness.ts';

const root = path.resolve(import.meta.dirname, '../..');
const guides = readdirSync(path.join(root, 'docs/guides')).map((name) => `docs/guides/${name}`);
const pages = [...guides, 'docs/progress.md', 'docs/coming-from-a-submit-file.md', 'docs/pool-rules.md'];

/** Only this guide trains with PyTorch; the others need no more than Python itself. */
const modulesOf = (page: string): string[] => (page.endsWith('pixi-pack.md') ? ['torch'] : []);

// Side by side: most of their time they wait for jobs.
describe('pages of commands', { concurrency: 3 }, () => {
  for (const page of pages)
    test(`${page}: its commands work as described`, async (t) => {
      const harness = await ExampleHarness.open(t, undefined, modulesOf(page));
      if (harness === undefined) return;
      const { code, out, err } = await harness.followPage(page);
      assert.equal(code, 0, `${out}\n${err}`);
    });
});

const readmes = (await walkFiles(path.join(root, 'examples')))
  .filter((name) => path.basename(name) === 'README.md')
  .map((name) => `examples/${name}`);

for (const page of [...pages, ...readmes])
  test(`${page}: its links lead to existing files`, () => {
    const text = readFileSync(path.join(root, page), 'utf8');
    const targets = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? '');
    const missing = targets.filter((target) => !existsSync(path.join(root, path.dirname(page), target)));
    assert.deepEqual(missing, []);
  });
