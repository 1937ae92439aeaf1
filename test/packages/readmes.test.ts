import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';
import { readmeExample, root, runExample } from './readme-example.ts';

/** The examples of packages that nobody installs alone run from the sources; `second-project.test.ts` has the others. */
const fromTarballs = ['pelican', 'htcondor'];

/** What an example is called with. */
const inputs: Record<string, (folder: string) => string[]> = {
  account: () => [path.join(root, 'test/eventlogs/hold404.log')],
  base: () => [],
  archive: (folder) => {
    writeFileSync(path.join(folder, 'a.txt'), 'first\n');
    writeFileSync(path.join(folder, 'b.txt'), 'next\n');
    execFileSync('tar', ['-czf', 'two.tar.gz', 'a.txt', 'b.txt'], { cwd: folder });
    return [path.join(folder, 'two.tar.gz'), path.join(folder, 'unpacked')];
  },
  mini: (folder) => [folder],
  page: () => [],
  view: () => [],
};

/** A project in whose `node_modules` our packages are, as links. */
async function projectWithLinks(t: TestContext): Promise<string> {
  const project = await temporaryFolder(t);
  mkdirSync(path.join(project, 'node_modules'));
  symlinkSync(path.join(root, 'node_modules/@updraft'), path.join(project, 'node_modules/@updraft'));
  return project;
}

for (const name of readdirSync(path.join(root, 'packages')).filter((one) => !fromTarballs.includes(one)))
  test(`the example in the README of ${name} prints what the README says`, async (t) => {
    const project = await projectWithLinks(t);
    const folder = await temporaryFolder(t);
    const args = inputs[name]?.(folder);
    assert.ok(args !== undefined, `add the arguments of the example of ${name} to this test`);
    const { code, prints } = readmeExample(name);
    assert.equal(await runExample(project, code, args), prints);
  });
