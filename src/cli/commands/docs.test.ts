import assert from 'node:assert/strict';
import { test } from 'node:test';
import packageJson from '../../../package.json' with { type: 'json' };
import { runCommand } from '../../../test/cli/run-command.ts';
import { configure, configureLicenses } from './docs.ts';

const docs = async (...words: string[]): Promise<string> =>
  (await runCommand({ configure }, words, { cwd: '/' })).out;

test('docs prints the list of pages, a page, and a section', async () => {
  assert.match(await docs(), /^# Documentation\n/);
  const page = await docs('guides/small-data');
  assert.match(page, /^# /);
  assert.equal(await docs('docs/guides/small-data.md'), page);
  const section = await docs('commands#completion');
  assert.match(section, /^## completion\n/);
  assert.doesNotMatch(section, /\n## /);
});

test('docs searches the pages for words that name none', async () => {
  const found = await docs('several', 'processes');
  assert.match(found, /^\d+ sections with "several processes":\n/);
  assert.match(found, /^ {2}updraft docs checkpoints#several-processes {3}Several processes$/m);
  const [, place = ''] = /updraft docs (\S+)/.exec(found) ?? [];
  assert.match(await docs(place), /^#/);
  assert.match(await docs('gpu'), /^\d+ sections with "gpu":\n/);
});

test('docs suggests the page or section that was meant, and prints no other file', async () => {
  await assert.rejects(docs('chekpoints'), { fix: 'did you mean checkpoints? updraft docs lists them' });
  await assert.rejects(docs('commands#plam'), {
    fix: 'did you mean plan? updraft docs commands prints the page',
  });
  await assert.rejects(docs('../SECRET-plan'), { message: 'there is no page "../SECRET-plan"' });
  assert.doesNotMatch(await docs('../CHANGELOG'), /^# Changelog/);
});

test('licenses prints those of Bun, with where its sources are, and of every package that is built in', async () => {
  const { out } = await runCommand({ configure: configureLicenses }, [], { cwd: '/' });
  assert.match(out, /GNU LIBRARY GENERAL PUBLIC LICENSE/);
  assert.match(out, /WebKit +https:\/\/github.com\/oven-sh\/WebKit, commit [0-9a-f]{40}\n/);
  for (const name of Object.keys(packageJson.dependencies)) assert.ok(out.includes(`\n${name} `), name);
});
