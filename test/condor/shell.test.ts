import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { shellQuote } from '@updraft/base';
import { makeExecutable, makePack, unpackTiny } from '../environment/make-pack.ts';
import { condorHarness } from './condor-harness.ts';
import { cliMain } from '../programs.ts';

test("updraft shell opens a terminal on a machine of the pool, with the training's files and software", async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "by-hand"
[train]
command = "cat hello.txt"
files = ["hello.txt"]
outputs = ["out.txt"]
[environment]
pack = "env.sh"
[resources]
memory = "500 MB"
[run]
pool = "condor"
`,
    'hello.txt': 'sent along\n',
  });
  if (harness === undefined) return;
  await writeFile(
    path.join(harness.folder, 'env.sh'),
    makeExecutable(makePack(), { unpacker: unpackTiny() }),
  );
  const temporary = path.join(harness.folder, 'tmp');
  await mkdir(temporary);
  const command = [process.execPath, cliMain, 'shell'].map(shellQuote).join(' ');
  // A terminal, as a user has one.
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: harness.folder,
    env: { ...harness.env, TERM: 'dumb', TMPDIR: temporary },
  });
  t.after(() => child.kill());
  const missing = await new Promise((resolve) => child.once('spawn', resolve).once('error', resolve));
  if (missing instanceof Error) {
    t.skip('no `script` on this machine to make a terminal');
    return;
  }
  let said = '';
  let typed = false;
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (typed || !said.includes('Welcome to')) return;
    typed = true;
    child.stdin.write('test -t 0 && cat hello.txt && echo "on $(basename "$(tty)")"\n');
    child.stdin.write('. ./software.sh && tiny && echo "active: $TINY_ACTIVE"; exit\n');
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  assert.equal(code, 0, said);
  assert.match(said, /sent along\r\n/);
  assert.match(said, /on \d+\r\n/);
  assert.match(said, /tiny in \S+\/software\/env\r\n/);
  assert.match(said, /active: yes, \S+\/software\/env\r\n/);
  assert.deepEqual(await readdir(temporary), []);
});
