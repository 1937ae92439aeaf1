import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { startFederation } from '@updraft/mini/federation';
import { buildWorkspace } from '../../scripts/build-workspace.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { readmeExample, root, runExample } from './readme-example.ts';

/** A project of another one, which has nothing of ours but a packed package; its example is the one of the README. */
async function projectWith(t: TestContext, name: string): Promise<string> {
  const folder = await temporaryFolder(t);
  buildWorkspace(name, path.join(folder, 'built'));
  execFileSync('npm', ['pack', '--offline', '--silent', './built'], { cwd: folder });
  const [tarball = ''] = globSync('*.tgz', { cwd: folder });
  const project = path.join(folder, 'project');
  const home = path.join(project, 'node_modules', '@updraft', name);
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', path.join(folder, tarball), '-C', home, '--strip-components=1']);
  return project;
}

/** What the compiler finds wrong with an example. */
function typeErrors(project: string): string {
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const types = path.join(root, 'node_modules/@types');
  const lax = ['--checkJs', '--noEmit', '--strict', '--skipLibCheck', '--noImplicitAny', 'false'];
  const how = ['--module', 'nodenext', '--target', 'esnext', '--types', 'node', '--typeRoots', types];
  return spawnSync(process.execPath, [tsc, ...lax, ...how, 'example.mjs'], { cwd: project, encoding: 'utf8' })
    .stdout;
}

test('a project that has only the tarball of pelican fetches an object of a federation, and proves it', async (t) => {
  const folder = await temporaryFolder(t);
  writeFileSync(path.join(folder, 'object.bin'), Buffer.alloc(1_000_000, 'updraft'));
  await using federation = await startFederation({ namespaces: [{ prefix: '/demo', folder, public: true }] });
  const project = await projectWith(t, 'pelican');
  const { code, prints } = readmeExample('pelican');
  const args = [`pelican://${federation.discoveryHost}/demo/object.bin`, 'fetched.bin'];
  assert.equal(await runExample(project, code, args, { SSL_CERT_FILE: federation.caFile }), prints);
  assert.equal(typeErrors(project), '');
});

test('a project that has only the tarball of htcondor counts the events of a log', async (t) => {
  const project = await projectWith(t, 'htcondor');
  const { code, prints } = readmeExample('htcondor');
  const log = path.join(root, 'test/eventlogs/hold_release.log');
  assert.equal(await runExample(project, code, [log]), prints);
  assert.equal(typeErrors(project), '');
});
