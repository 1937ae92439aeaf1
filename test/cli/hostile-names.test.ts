import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { walkFiles } from '@updraft/base/disk';
import { temporaryFolder } from '../temporary-folder.ts';
import { cliMain } from '../programs.ts';

const root = path.resolve(import.meta.dirname, '../..');
const evil = 'Ev\u001b[2J\u001b]0;x\u0007i\u009b31ml\u202eSite\u0008\u2066\rX';
const driving = /(?![\n\t])[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;

test('names in logs and journals cannot drive a terminal, whichever command prints them', async (t) => {
  const cwd = await temporaryFolder(t);
  const log = await readFile(path.join(root, 'test/eventlogs/evict_vacate.log'), 'utf8');
  const held =
    '012 (019.000.000) 2026-11-15 00:20:07 Job was held.\n\tError from EVIL: gone\n\tCode 13 Subcode 2\n...\n';
  await writeFile(
    path.join(cwd, 'job.log'),
    (log + held).replaceAll('PDX-Coeus-CE1', evil).replaceAll('EVIL', evil),
  );
  const run = path.join(cwd, 'run');
  await cp(path.join(root, 'test/journals/retry-then-failure'), run, { recursive: true });
  for (const name of await walkFiles(run)) {
    if (!name.endsWith('.jsonl')) continue;
    const file = path.join(run, name);
    const hostile = (_: string, key: string): string => `"${key}":${JSON.stringify(`${evil}.example`)}`;
    const text = (await readFile(file, 'utf8')).replaceAll(
      /"(host|site|message|server|command)":"[^"]*"/g,
      hostile,
    );
    await writeFile(file, text);
  }
  const commands = [
    ...['why', 'report'].flatMap((word) => [
      [word, 'job.log'],
      [word, 'run'],
    ]),
    ...['job.log', 'run'].flatMap((source) => [
      ['report', source, '--csv'],
      ['report', source, '--csv', '--jobs'],
      ['report', source, '--all'],
      ['report', source, '--markdown'],
      ['report', source, '--json'],
      ['why', source, '--json'],
    ]),
    ['why', 'run', '1'],
    ['status', 'run'],
    ['status', 'run', '--json'],
    ['watch', 'run'],
    ['logs', 'run'],
  ];
  let shown = 0;
  const run1 = async (words: string[]): Promise<void> => {
    const options = { cwd, env: { ...process.env, HOME: cwd } };
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [cliMain, ...words],
      options,
    ).catch((failed: unknown) => failed as { stdout: string; stderr: string });
    const found = driving.exec(stdout + stderr);
    assert.equal(found, null, `${words.join(' ')}: ${JSON.stringify(found?.[0])}`);
    if (words.includes('--json') && stdout !== '') JSON.parse(stdout);
    if (/Ev/.test(stdout)) shown++;
  };
  for (let at = 0; at < commands.length; at += 4) await Promise.all(commands.slice(at, at + 4).map(run1));
  assert.ok(shown > 10, `only ${shown} commands showed the names`);
});
