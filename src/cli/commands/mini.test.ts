import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { identifyProcess } from '@updraft/base/processes';
import { runCommand } from '../../../test/cli/run-command.ts';
import { ask } from '../../../test/mini/demo-federation.ts';
import { cliMain } from '../../../test/programs.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import * as mini from './mini.ts';

interface Ended {
  code: number;
  out: string;
  err: string;
}

/** A folder to publish and a state folder; whatever runs there is ended afterwards. */
async function place(t: TestContext) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'mini-cli-'));
  await mkdir(path.join(folder, 'data'));
  await writeFile(path.join(folder, 'data/hello.txt'), 'hello');
  const options = { cwd: folder, env: { ...process.env, XDG_STATE_HOME: path.join(folder, 'state') } };
  const updraft = (...words: string[]): Promise<Ended> =>
    new Promise((resolve) => {
      execFile(process.execPath, [cliMain, 'mini', 'federation', ...words], options, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err });
      });
    });
  t.after(async () => {
    await updraft('down');
    await rm(folder, { recursive: true, force: true });
  });
  return { folder, options, updraft, state: path.join(folder, 'state/updraft/mini-federation') };
}

interface State {
  process: { pid: number };
  caFile: string;
  discoveryHost: string;
  caches: { url: string }[];
}

test('a federation runs in the background, answers, takes trouble rules and ends', async (t) => {
  const { updraft, state, folder } = await place(t);
  const up = await updraft(
    'up',
    '--publish',
    '/demo=data',
    '--publish',
    '/p=data',
    '--token-for',
    '/p',
    '--like',
    'pelican-go',
    '--detach',
  );
  assert.equal(up.code, 0, up.err);
  assert.match(up.err, /^ {2}--like +pelican-go$/m);
  const lines = [...up.out.matchAll(/^export (\w+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value] as const,
  );
  const variables: Record<string, string> = Object.fromEntries(lines);
  assert.deepEqual(Object.keys(variables), ['UPDRAFT_OSDF_HOST', 'SSL_CERT_FILE', 'BEARER_TOKEN_FILE']);
  for (const file of ['federation.json', 'token-p'])
    assert.equal((await stat(path.join(state, file))).mode & 0o777, 0o600);

  const shown = JSON.parse((await updraft('status', '--json')).out) as State;
  assert.equal(shown.discoveryHost, variables['UPDRAFT_OSDF_HOST']);
  const kept = JSON.parse(await readFile(path.join(state, 'federation.json'), 'utf8')) as {
    admin: { key: string };
  };
  assert.ok(!JSON.stringify(shown).includes(kept.admin.key), 'the key stays in its file');
  const token = (await readFile(variables['BEARER_TOKEN_FILE'] ?? '', 'utf8')).trim();
  const [cache] = shown.caches;
  const hello = await ask(shown, `${cache!.url}/p/hello.txt`, { token });
  assert.deepEqual([hello.body.toString(), hello.headers.server], ['hello', 'pelican/7.28.0']);
  assert.equal((await ask(shown, `${cache!.url}/p/hello.txt`)).status, 403);

  const fresh = await updraft('token', '/p', '--scope', 'storage.read:/other');
  assert.equal((await ask(shown, `${cache!.url}/p/hello.txt`, { token: fresh.out.trim() })).status, 403);
  assert.equal((await updraft('trouble', 'cache-1: 404 on hello.txt first 1')).code, 0);
  assert.equal((await ask(shown, `${cache!.url}/demo/hello.txt`)).status, 404);
  assert.match(
    (await updraft('trouble')).out,
    /^1\tcache-1: 404 on hello\.txt first 1\thit 1 of 1 request\n$/,
  );
  assert.match((await updraft('trouble', '--clear', 'cache-2: down')).out, /^2\tcache-2: down\thappened\n$/);

  const again = await updraft('up', '--publish', '/demo=data');
  assert.deepEqual([again.code, /is already running/.test(again.err)], [2, true]);
  assert.equal((await updraft('down')).code, 0);
  assert.equal(identifyProcess(shown.process.pid), undefined);
  assert.deepEqual(await readdir(state), ['log']);
  assert.deepEqual(await readdir(path.join(folder, 'data')), ['hello.txt']);
});

test('in the foreground, Ctrl-C shuts it down cleanly', async (t) => {
  const { options, state } = await place(t);
  const child = spawn(
    process.execPath,
    [cliMain, 'mini', 'federation', 'up', '--publish', '/demo=data', '--like', 'xrootd', '--json'],
    options,
  );
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const shown = JSON.parse(line.toString()) as State;
  const hello = await ask(shown, `${shown.caches[0]!.url}/demo/hello.txt`);
  assert.deepEqual([hello.body.toString(), hello.headers.etag], ['hello', undefined]);
  child.kill('SIGINT');
  const [code] = (await once(child, 'exit')) as [number];
  assert.equal(code, 0);
  assert.deepEqual(await readdir(state), []);
});

test('invalid options are reported with exit code 2, and nothing is started', async (t) => {
  const { updraft, state } = await place(t);
  const expected: [string[], RegExp][] = [
    [['up'], /nothing to publish/],
    [['up', '--publish', 'demo=data'], /expected \/prefix=FOLDER/],
    [['up', '--publish', '/demo=none', '--detach'], /none is not a folder/],
    [['up', '--publish', '/api=data'], /expected \/prefix=FOLDER/],
    [['up', '--publish', '/demo=data', '--token-for', '/other'], /add --publish \/other=FOLDER/],
    [['up', '--publish', '/demo=data', '--caches', '0'], /a number from 1 to 50/],
    [['up', '--publish', '/demo=data', '--like', 'nginx'], /expected one of pelican-go, xrootd/],
    [['up', '--publish', '/demo=data', '--trouble', 'cache-1: explode'], /'explode' is not an action/],
    [['up', '--publish', '/demo=data', '--trouble', 'cache-3: 404'], /there is no server cache-3/],
  ];
  const ended = await Promise.all(expected.map(([words]) => updraft(...words)));
  for (const [index, { code, err }] of ended.entries()) {
    assert.equal(code, 2, err);
    assert.match(err, expected[index]![1]);
  }
  assert.deepEqual(
    (await readdir(state).catch(() => [])).filter((name) => name !== 'log'),
    [],
  );
});

test('without a running federation, down succeeds and the others say how to start one', async (t) => {
  const { updraft } = await place(t);
  assert.equal((await updraft('down')).code, 0);
  for (const words of [['status'], ['token'], ['trouble', 'cache-1: 404']]) {
    const { code, err } = await updraft(...words);
    assert.equal(code, 92);
    assert.match(err, /fix: updraft mini federation up/);
  }
});

test('a machine that has HTCondor starts no pool, and says which HTCondor it has', async (t) => {
  const cwd = await temporaryFolder(t, { 'bin/condor_submit': '#!/bin/sh\n' });
  const own = path.join(cwd, 'bin', 'condor_submit');
  await chmod(own, 0o755);
  const env = { PATH: path.dirname(own), HOME: cwd };
  const { out, err } = await runCommand(mini, ['pool', 'up', '--json'], { cwd, env });
  assert.deepEqual(JSON.parse(out), { running: false, condor: own });
  assert.match(err, /already has HTCondor.*nothing to start/);
  assert.deepEqual(await readdir(cwd), ['bin']);
});
