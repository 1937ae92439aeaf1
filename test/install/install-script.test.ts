import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';

const script = path.resolve(import.meta.dirname, '../../packaging/install.sh');
const program = '#!/bin/sh\necho 9.8.7\n';
const names = ['updraft-linux-x64', 'updraft-linux-arm64'];

interface Install {
  release: string;
  bin: string;
  home: string;
  /** Runs the release's script with these variables. */
  run: (env?: Record<string, string>) => Promise<{ code: number; out: string; err: string }>;
}

/** A release whose executables are shell scripts, and a home to install it into. */
async function install(t: TestContext): Promise<Install> {
  const sha256 = createHash('sha256').update(program).digest('hex');
  const files = Object.fromEntries(names.map((name) => [name, program]));
  const sums = names.map((name) => `${sha256}  ${name}\n`).join('');
  const release = await temporaryFolder(t, { ...files, SHA256SUMS: sums });
  await copyFile(script, path.join(release, 'install.sh'));
  const home = await temporaryFolder(t);
  return {
    release,
    home,
    bin: path.join(home, '.local/bin'),
    run: async (env = {}) => {
      const child = spawn('sh', [path.join(release, 'install.sh')], {
        env: { PATH: process.env['PATH'], HOME: home, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [out, err, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close') as Promise<[number]>,
      ]);
      return { code, out, err };
    },
  };
}

test('install.sh installs what is beside it, and says that its folder is not on the PATH', async (t) => {
  const { bin, run } = await install(t);
  const { code, out } = await run();
  assert.equal(code, 0);
  assert.equal(
    out,
    `installed updraft 9.8.7 as ${bin}/updraft\n${bin} is not on your PATH; add this line to your shell's start file:\n  export PATH="${bin}:$PATH"\nnext: ${bin}/updraft --help\n`,
  );
  assert.equal(readFileSync(path.join(bin, 'updraft'), 'utf8'), program);
  assert.equal(statSync(path.join(bin, 'updraft')).mode & 0o777, 0o755);
  const again = await run({ PATH: `${bin}:${process.env['PATH'] ?? ''}` });
  assert.match(again.out, /next: updraft --help\n$/);
  assert.deepEqual(readdirSync(bin), ['updraft']);
});

test('install.sh says what to set without a home, and why it cannot install', async (t) => {
  const { release, home, bin, run } = await install(t);
  const homeless = await run({ HOME: '' });
  assert.deepEqual(
    [homeless.code, homeless.err],
    [1, 'install: HOME is not set: set UPDRAFT_BIN to the folder to install into\n'],
  );
  await mkdir(path.join(home, 'taken/updraft'), { recursive: true });
  const taken = await run({ UPDRAFT_BIN: path.join(home, 'taken') });
  assert.match(taken.err, /^install: \S+\/taken\/updraft is a folder: set UPDRAFT_BIN to another folder\n$/);
  for (const name of names) await rm(path.join(release, name));
  const missing = await run();
  assert.match(missing.err, /No such file.*\ninstall: \S+ could not be copied to \S+\n$/);
  assert.deepEqual([taken.code, missing.code, readdirSync(bin)], [1, 1, []]);
});

test('install.sh downloads from a URL', async (t) => {
  const { release, bin, run } = await install(t);
  const server = createServer((request, response) =>
    response.end(readFileSync(path.join(release, path.basename(request.url ?? '')))),
  ).listen(0, '127.0.0.1');
  t.after(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { code, err } = await run({ UPDRAFT_FROM: `http://127.0.0.1:${port}` });
  assert.equal(code, 0, err);
  assert.equal(readFileSync(path.join(bin, 'updraft'), 'utf8'), program);
});

test('install.sh installs nothing that was not published', async (t) => {
  const { release, bin, run } = await install(t);
  for (const name of names) await writeFile(path.join(release, name), `${program}# changed\n`);
  const { code, err } = await run();
  assert.equal(code, 1);
  assert.match(err, /^install: updraft-linux-\w+ is not what was published: .* nothing was installed\n$/);
  assert.deepEqual(readdirSync(bin), []);
});

for (const [system, machine, said] of [
  ['Darwin', 'arm64', /Updraft runs on Linux, and this is Darwin/],
  ['Linux', 'ppc64le', /there is no Updraft for ppc64le machines/],
] as const)
  test(`install.sh refuses ${system} on ${machine}, plainly`, async (t) => {
    const { home, bin, run } = await install(t);
    const uname = path.join(home, 'uname');
    await writeFile(uname, `#!/bin/sh\n[ "$1" = -s ] && echo ${system} || echo ${machine}\n`);
    await chmod(uname, 0o755);
    const { code, err } = await run({ PATH: `${home}:${process.env['PATH'] ?? ''}` });
    assert.equal(code, 1);
    assert.match(err, said);
    assert.equal(existsSync(bin), false);
  });
