import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { loadPlan } from './load-plan.ts';

const job = (files: string, more = ''): string =>
  `name = "x"\n[train]\ncommand = "t"\noutputs = ["m"]\nfiles = ${files}\n${more}`;

async function assertRefused(t: TestContext, files: Record<string, string>, words: RegExp): Promise<void> {
  const folder = await temporaryFolder(t, files);
  await assert.rejects(loadPlan('.', { cwd: folder }), { kind: 'file-invalid', message: words });
}

test('a folder or a file gives the plan, its files with sizes and hashes, folders walked in order', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': job('["train.py", "lib", "lib/b.py"]'),
    'train.py': 'print(1)\n',
    'lib/b.py': 'b',
    'lib/deep/a.py': '',
  });
  const plan = await loadPlan(folder);
  assert.deepEqual(
    plan.files.map((file) => [file.path, file.bytes]),
    [
      ['lib/b.py', 1],
      ['lib/deep/a.py', 0],
      ['train.py', 9],
    ],
  );
  assert.equal(plan.files[2]?.sha256, createHash('sha256').update('print(1)\n').digest('hex'));
  assert.equal(plan.folder, folder);
  assert.deepEqual(await loadPlan('updraft.toml', { cwd: folder }), plan);
});

test('further job files may be named, and later ones override earlier ones', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml': job('[]', '[resources]\ncpus = 1\ngpus = 1\n'),
    'small.toml': '[resources]\ncpus = 2\ngpus = 0\n',
    'mine.toml': '[resources]\ncpus = 3\n',
  });
  const { spec } = await loadPlan('.', { cwd, with: ['small.toml', 'mine.toml'] });
  assert.deepEqual([spec.resources.cpus, spec.resources.gpus], [3, 0]);
});

test('missing files are named with their line and key, all of them', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': job('["train.py", "gone.py", "*.csv"]'),
    'train.py': '',
  });
  await assert.rejects(loadPlan('.', { cwd: folder }), (error: Error) => {
    assert.match(error.message, /^2 problems in updraft\.toml$/m);
    assert.match(error.message, /^updraft\.toml:5:22: train\.files\[1\]: "gone\.py" not found/m);
    assert.match(error.message, /^updraft\.toml:5:33: .*wildcards are not expanded/m);
    return true;
  });
});

test('links out of the folder and circular links are refused', async (t) => {
  const outside = await temporaryFolder(t, { secret: 's' });
  const folder = await temporaryFolder(t, { 'updraft.toml': job('["a"]'), 'real/x': 'x' });
  await mkdir(path.join(folder, 'a'));
  await symlink('../real/x', path.join(folder, 'a', 'inside'));
  assert.deepEqual(
    (await loadPlan(folder)).files.map((file) => file.path),
    ['a/inside'],
  );
  await symlink(path.join(outside, 'secret'), path.join(folder, 'a', 'leak'));
  await assert.rejects(loadPlan(folder), { message: /"a\/leak" is a link to .*outside the folder/ });

  const circle = await temporaryFolder(t, { 'updraft.toml': job('["a"]'), 'a/x': '' });
  await symlink('..', path.join(circle, 'a', 'up'));
  await assert.rejects(loadPlan(circle), { message: /"a\/up\/a" is a link to a folder that contains it/ });
});

test('an empty folder to send is refused', async (t) => {
  const folder = await temporaryFolder(t, { 'updraft.toml': job('["empty"]') });
  await mkdir(path.join(folder, 'empty'));
  await assert.rejects(loadPlan(folder), { message: /"empty" is an empty folder/ });
});

test('sockets and dangling links are refused by name', async (t) => {
  const folder = await temporaryFolder(t, { 'updraft.toml': job('["socket", "dangling"]') });
  const server = net.createServer().listen(path.join(folder, 'socket'));
  t.after(() => server.close());
  await once(server, 'listening');
  await symlink('nowhere', path.join(folder, 'dangling'));
  await assert.rejects(loadPlan(folder), {
    message: /"socket" is neither a file nor a folder\n.*"dangling" not found/,
  });
});

test('no job file, two of them, or no folder: each message says what to do', async (t) => {
  await assertRefused(t, {}, / has no updraft\.toml or updraft\.yaml or updraft\.yml/);
  await assertRefused(t, { 'updraft.toml': '', 'updraft.yaml': '' }, /updraft\.toml and updraft\.yaml/);
  const folder = await temporaryFolder(t);
  await assert.rejects(loadPlan('nowhere', { cwd: folder }), { kind: 'file-invalid', fix: /updraft init/ });
  await assert.rejects(loadPlan('.', { cwd: folder }), { fix: /updraft init/ });
});

test('a job file that is not text is refused', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'updraft.toml'), Buffer.from([0xff, 0xfe, 0x00]));
  await assert.rejects(loadPlan(folder), { kind: 'file-invalid', message: /not UTF-8 text/ });
});

test('a token file is found beside the job file or at home, and reported with its place if missing', async (t) => {
  const data = (file: string): string => job('[]', `[data.d]\nurl = "osdf:///a/b"\ntoken_file = "${file}"\n`);
  const folder = await temporaryFolder(t, { 'updraft.toml': data('token'), token: 'secret' });
  const plan = await loadPlan(folder);
  assert.equal(plan.data[0]?.tokenFile, path.join(folder, 'token'));
  assert.doesNotMatch(JSON.stringify(plan), /secret/);

  await writeFile(path.join(folder, 'updraft.toml'), data('~/token'));
  assert.equal(
    (await loadPlan(folder, { env: { HOME: folder } })).data[0]?.tokenFile,
    path.join(folder, 'token'),
  );
  await writeFile(path.join(folder, 'updraft.toml'), data('gone'));
  await assert.rejects(loadPlan('.', { cwd: folder }), {
    message: /^updraft\.toml:8:14: data\.d\.token_file: .*gone does not exist/,
  });
});

test('a manifest beside the job file is sent along; one at a URL is not', async (t) => {
  const data = (manifest: string): string =>
    job('[]', `[data.d]\nurl = "osdf:///a/b"\nmanifest = "${manifest}"\n`);
  const folder = await temporaryFolder(t, { 'updraft.toml': data('m.json'), 'm.json': '{}' });
  assert.deepEqual(
    (await loadPlan(folder)).files.map((file) => file.path),
    ['m.json'],
  );
  await writeFile(path.join(folder, 'updraft.toml'), data('osdf:///a/m.json'));
  assert.deepEqual((await loadPlan(folder)).files, []);
});

test('the disk for a file on this machine is computed from its size', async (t) => {
  const folder = await temporaryFolder(t, { 'set.tar': 'x'.repeat(5_000_000) });
  const { href } = pathToFileURL(path.join(folder, 'set.tar'));
  await writeFile(path.join(folder, 'updraft.toml'), job('[]', `[data.d]\nurl = "${href}"\n`));
  const { disk, data } = await loadPlan(folder);
  assert.deepEqual([disk.bytes, data[0]?.expect], [1_010_000_000, {}]);
  assert.match(disk.why, /10 MB for data\.d \(unpacked, plus its archive\)/);
});

test('a file:// object must exist', async (t) => {
  const data = (url: string): string => job('[]', `[data.d]\nurl = "${url}"\n`);
  const folder = await temporaryFolder(t, { 'a b.tar': '' });
  const url = pathToFileURL(path.join(folder, 'a b.tar')).href;
  await writeFile(path.join(folder, 'updraft.toml'), data(url));
  assert.equal((await loadPlan(folder)).data[0]?.method, 'native');
  for (const wrong of [`${url}x`, 'file://elsewhere/a.tar']) {
    await writeFile(path.join(folder, 'updraft.toml'), data(wrong));
    await assert.rejects(loadPlan('.', { cwd: folder }), {
      message: /^updraft\.toml:7:7: data\.d\.url: .* (does not exist|is on another machine)/,
    });
  }
});

test('what an entry of the matrix names and this machine lacks is reported at that entry', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': `${job('[]')}[data.d]\nurl = "{url}"\n[run.matrix]\nurl = [\n  "here.tar",\n  "gone.tar",\n]\n`,
    'here.tar': 'x',
  });
  await assert.rejects(loadPlan('.', { cwd: folder }), {
    message:
      /^updraft\.toml:11:3: run\.matrix\.url\[1\]: .*gone\.tar does not exist.* \(it fills data\.d\.url\)/,
  });
});

test('what an entry of a group names and this machine lacks is reported at that entry', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': `${job('[]')}[data.d]
url = "{url}"
manifest = "{manifest}"
[run.matrix]
way = [
  { url = "here.tar", manifest = "" },
  { url = "gone.tar", manifest = "" },
  { url = "osdf:///a/b.tar", manifest = "gone.manifest" },
]
`,
    'here.tar': 'x',
  });
  await assert.rejects(loadPlan('.', { cwd: folder }), (error: Error) => {
    assert.match(
      error.message,
      /^updraft\.toml:12:11: run\.matrix\.way\[1\]\.url: .*gone\.tar does not exist/m,
    );
    assert.match(error.message, /^updraft\.toml:13:41: run\.matrix\.way\[2\]\.manifest: .*gone\.manifest/m);
    assert.match(error.message, /^2 problems/);
    return true;
  });
});
