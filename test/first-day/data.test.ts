import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { configureOf } from '../../src/cli/command-line.ts';
import { asFault, kinds } from '@updraft/account/fault';
import { loadRun } from '@updraft/account/journal';
import { runCommand } from '../cli/run-command.ts';
import { RunHarness } from '../run/run-harness.ts';

/** Names as people have them; an empty folder belongs to the data, too. */
const names = ['cat/1.jpg', 'cat/2.jpg', 'dog/with space.jpg', 'dog/ümläut\nline.jpg', 'dog/empty.jpg'];

/** A user's folder with class folders of images, and the archive made of them. */
async function project(t: TestContext): Promise<RunHarness> {
  const harness = await RunHarness.make(t);
  const images = path.join(harness.folder, 'images');
  for (const name of names) {
    mkdirSync(path.dirname(path.join(images, name)), { recursive: true });
    writeFileSync(path.join(images, name), name.includes('empty') ? '' : name.repeat(500));
  }
  mkdirSync(path.join(images, 'none'));
  execFileSync('tar', ['-czf', 'images.tar.gz', 'images'], { cwd: harness.folder });
  return harness;
}

/** Compares the data with the original, byte for byte and with empty folders. */
const command = (data: string): string => `diff -r ${data} "$HOME/images" && find ${data} | sort > model.pt`;

const data = (harness: RunHarness, url: string, more = '', at = 'data'): Promise<void> =>
  harness.describe(command(at), 'attempts = 3', `[data.images]\nurl = "${url}"\n${more}`);

/** `updraft check` in this process. */
async function check({ folder, env }: RunHarness): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const out = (text: string): void => void (said.out += text);
  const err = (text: string): void => void (said.err += text);
  try {
    await runCommand({ configure: await configureOf('check') }, [], { cwd: folder, env, out, err });
    return { code: 0, ...said };
  } catch (thrown) {
    const fault = asFault(thrown);
    return { code: kinds[fault.kind].exit, out: said.out, err: said.err + fault.message };
  }
}

test('rows 10 to 12: an archive or a folder, by a relative path, an absolute one or a file URL', async (t) => {
  const harness = await project(t);
  for (const [url, at] of [
    ['images.tar.gz', 'data/images'],
    [path.join(harness.folder, 'images.tar.gz'), 'data/images'],
    [`file://${harness.folder}/images`, 'data'],
    ['./images/', 'data'],
  ] as const) {
    await data(harness, url, '', at);
    const checked = await check(harness);
    assert.equal(checked.code, 0, checked.out + checked.err);
    if (at === 'data') assert.match(checked.out, /data\.images +5 files, [\d.]+ kB on this machine; packed/);
  }
  const ran = await harness.updraft('run');
  assert.equal(ran.code, 0, ran.out + ran.err);
  const [run = ''] = await harness.runs();
  assert.match(readFileSync(path.join(run, 'results/0000/model.pt'), 'utf8'), /data\/none\n/);

  // The same folder is not packed again; another file in it makes another run.
  const again = await harness.updraft('run', '--new');
  assert.equal(again.code, 0, again.err);
  assert.doesNotMatch(again.err, /packing/);
  const archive = (folder: string): string =>
    path.join(folder, 'data', readdirSync(path.join(folder, 'data'))[0] ?? '');
  assert.deepEqual(new Set((await harness.runs()).map((one) => statSync(archive(one)).ino)).size, 1);
  appendFileSync(path.join(harness.folder, 'images/cat/1.jpg'), 'more');
  const changed = await harness.updraft('run');
  assert.equal(changed.code, 0, changed.err);
  assert.match(changed.err, /packing data\.images: 5 files[^]*changed since bench-\S+: images;/);
});

test('row 14: a local archive with another number of files than expected', async (t) => {
  const harness = await project(t);
  await data(harness, 'images.tar.gz', 'expect = { files = 3600 }', 'data/images');
  const checked = await check(harness);
  assert.equal(checked.code, 3);
  assert.match(
    checked.out,
    /updraft\.toml:\d+ +object-unusable\n.*images\.tar\.gz has 5 files, but the job file/,
  );
  assert.match(checked.out.replaceAll(/\s+/g, ' '), /fix: set expect = \{ files = 5 \}/);
  const ran = await harness.updraft('run', '--no-check');
  assert.equal(ran.code, 1);
  const [run = ''] = await harness.runs();
  const [job] = (await loadRun(run)).jobs;
  assert.equal(job?.attempts.length, 1, 'the same file is not tried again');
  assert.equal(job.attempts[0]?.fault?.kind, 'expect-wrong');
  await data(harness, 'images/', 'expect = { files = 3600 }');
  const folder = await check(harness);
  assert.equal(folder.code, 3);
  assert.match(folder.err, /:\d+:\d+: data\.images\.expect\.files: is 3600, but the folder has 5 files/);
});

test('row 45: a page of HTML where data was meant', async (t) => {
  const harness = await project(t);
  const page =
    '<!DOCTYPE html>\n<html><title>Index of /images</title><a href="images.tar.gz">images.tar.gz</a></html>';
  const server = http.createServer(({ url }, response) => {
    const type = url === '/images/' ? 'text/html' : 'application/octet-stream';
    response.writeHead(200, { 'Content-Type': type }).end(page);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const url of [`${base}/images/`, `${base}/images.tar.gz`]) {
    await data(harness, url, 'expect = { files = 360 }');
    const { code, out } = await check(harness);
    assert.equal(code, 3, out);
    assert.match(out, /updraft\.toml:\d+ +object-unusable\n +data\.images: \S+ is an HTML page/);
    assert.match(out, /fix: open it in a browser and copy the address/);
  }
});

test('a folder that cannot be sent: the file that is wrong is named', async (t) => {
  const harness = await project(t);
  const at = (name: string): string => path.join(harness.folder, name);
  for (const folder of ['outside', 'socket', 'hollow', 'broken']) mkdirSync(at(folder));
  writeFileSync(at('secret'), 'x');
  symlinkSync(at('secret'), at('outside/link.jpg'));
  symlinkSync(at('nowhere'), at('broken/link.jpg'));
  symlinkSync('.', at('here'));
  const server = net.createServer().listen(at('socket/s'));
  await once(server, 'listening');
  t.after(() => void server.close());
  for (const [url, message] of [
    ['outside', /data\.images\.url: \S+outside\/link\.jpg is a link to \S+secret, outside the folder; put/],
    ['socket', /socket\/s is not a regular file; remove it/],
    ['hollow', /hollow is an empty folder/],
    ['broken', /broken\/link\.jpg cannot be read: no such file/],
    ['.', /contains this job file and its runs; put the data into a folder of its own/],
    ['here', /here contains this job file/],
    ['/', /contains this job file/],
    ['imagse', /imagse does not exist; expected a file or folder/],
  ] as const) {
    await data(harness, url);
    const { code, err } = await check(harness);
    assert.equal(code, 3);
    assert.match(err, message);
  }
  await data(harness, 'images/', 'unpack = "tar"\nsha256 = "aa"');
  assert.match((await check(harness)).err, /data\.images\.sha256: /);
});

test('a command that is killed while it packs leaves nothing', async (t) => {
  const harness = await project(t);
  spawnSync('truncate', ['-s', '4G', 'images/cat/big.bin'], { cwd: harness.folder });
  await data(harness, 'images/');
  const { pid, answer } = harness.start('submit', '--no-check');
  const runs = path.join(harness.folder, 'runs');
  const drafts = (): string[] => {
    try {
      return readdirSync(runs).filter((name) => name.endsWith('.draft'));
    } catch {
      return [];
    }
  };
  while (drafts().length === 0) await new Promise((resolve) => void setImmediate(resolve));
  process.kill(pid, 'SIGKILL');
  await answer;
  assert.equal(drafts().length, 1);
  spawnSync('rm', ['images/cat/big.bin'], { cwd: harness.folder });
  const { code, err } = await harness.updraft('run');
  assert.equal(code, 0, err);
  assert.deepEqual(drafts(), []);
});
