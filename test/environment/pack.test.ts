import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { zstdCompressSync } from 'node:zlib';
import * as env from '../../src/cli/commands/env.ts';
import { archiveInstalled } from '../../src/environment/installed-pack.ts';
import { condaPlatform } from '../../src/environment/pack-splitter.ts';
import type { OrderedData } from '../../src/job/job.ts';
import { tarEntry } from '../archives/make-tar.ts';
import { AgentHarness } from '../agent/agent-harness.ts';
import { runCommand } from '../cli/run-command.ts';
import { needOnPath } from '../on-path.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { makeChannel } from './make-channel.ts';
import { makeExecutable, makePack, tinyPackage, unpackProgram } from './make-pack.ts';

interface PackOptions {
  name?: string;
  sha256?: string;
  bytes?: number;
  unpacker?: string;
  command?: string;
  data?: true;
  /** Its bytes are verified, but it was published wrong. */
  proven?: true;
  exit?: number;
}

/** Runs an attempt whose software comes as this archive. */
async function attemptWith(t: TestContext, archive: Buffer, reported: PackOptions = {}) {
  const harness = await AgentHarness.open(t);
  const { name = 'env-1a2b3c4d.sh', sha256, bytes, unpacker } = reported;
  await mkdir(harness.at('packs'));
  await writeFile(harness.at('data.bin'), 'data');
  await writeFile(harness.at(`packs/${name}`), archive);
  const pack: OrderedData = {
    name: 'environment.pack',
    url: pathToFileURL(harness.at(`packs/${name}`)).href,
    into: 'environment',
    unpack: 'none',
    method: 'native',
    expect: bytes === undefined ? {} : { bytes },
    ...(sha256 === undefined ? {} : { sha256 }),
  };
  if (unpacker !== undefined) {
    await writeFile(harness.at('files/pixi-unpack'), unpacker);
    await chmod(harness.at('files/pixi-unpack'), 0o755);
  }
  const ended = await harness.run({
    environment: { python: [], pack, ...(unpacker === undefined ? {} : { unpacker: 'pixi-unpack' }) },
    train: { command: reported.command ?? 'tiny > model.pt && echo "$TINY_ACTIVE" >> model.pt' },
    data: reported.data === undefined ? [] : [{ url: pathToFileURL(harness.at('data.bin')).href }],
  });
  assert.deepEqual(harness.leftovers(), [], 'nothing is left of the software');
  return { harness, ...ended };
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

for (const old of [false, true])
  test(`a self-extracting archive of ${old ? 'pixi-pack before 0.7' : 'pixi-pack'} is unpacked on the scratch disk and activated for the training`, async (t) => {
    const archive = makeExecutable(makePack(), { old });
    const { harness, exit, stderr } = await attemptWith(t, archive, { sha256: sha256(archive) });
    assert.equal(stderr, '');
    assert.equal(exit, 0);
    const [said = '', active = ''] = harness.result('model.pt').split('\n');
    assert.match(said, /^tiny in .*\/software\/env$/);
    assert.equal(active, said.replace('tiny in', 'yes,'));
    const phases = harness.entries('phase').map(({ phase }) => phase);
    assert.deepEqual(phases, ['preparing', 'fetching', 'unpacking', 'training', 'returning', 'cleaning']);
    assert.equal(harness.entries('fetched')[0]?.verified, 'digest');
    const [ready] = harness.entries('environment-ready');
    assert.equal(ready?.how, 'pack env-1a2b3c4d.sh');
    assert.equal(ready.bytes, makePack().length);
  });

for (const form of ['sh', 'tar', 'tar.zst'])
  test(`a real pixi-pack archive, as .${form}, is unpacked by its own program and activated`, async (t) => {
    const [packer, unpacker] = (await needOnPath(t, 'pixi-pack', 'pixi-unpack')) ?? [];
    if (packer === undefined || unpacker === undefined) return;
    const folder = await temporaryFolder(t);
    await makeChannel(folder, [tinyPackage()]);
    const words = ['pack', '-p', condaPlatform(os.arch()), '--json'];
    const ways = form === 'sh' ? [] : [form === 'tar' ? '--tar' : '--installed'];
    // Otherwise pixi-pack downloads the program that goes into the script.
    const local = form !== 'sh' ? '' : ` --pixi-unpack-source '${unpacker}'`;
    await mkdir(path.join(folder, 'bin'));
    const script = `#!/bin/sh\nexec '${packer}'${local} "$@"\n`;
    await writeFile(path.join(folder, 'bin/pixi-pack'), script, { mode: 0o755 });
    const PATH = `${folder}/bin:${process.env['PATH'] ?? ''}`;
    const where = { cwd: folder, env: { ...process.env, HOME: folder, PATH } };
    const { out } = await runCommand(env, [...words, ...ways], where);
    const made = JSON.parse(out) as { file: string; sha256: string; packages: number };
    assert.equal(made.packages, 1);
    const { harness, exit, stderr } = await attemptWith(t, await readFile(path.join(folder, made.file)), {
      name: made.file,
      sha256: made.sha256,
      ...(form === 'tar' && { unpacker: `#!/bin/sh\nexec '${unpacker}' "$@"\n` }),
    });
    assert.equal(exit, 0, stderr);
    assert.match(harness.result('model.pt'), /^tiny in (.*\/software\/env)\nyes, \1\n$/);
  });

/** An archive of an installed environment, with paths of it in all kinds of files. */
async function installedArchive(t: TestContext, platform = condaPlatform(os.arch())): Promise<Buffer> {
  const draft = await temporaryFolder(t);
  const folder = path.join(draft, 'installed'.padEnd(200, '_'));
  const [tar, output] = [path.join(draft, 'env.tar'), path.join(draft, 'env.tar.zst')];
  await mkdir(folder);
  await writeFile(tar, makePack());
  await writeFile(path.join(draft, 'unpack'), unpackProgram(), { mode: 0o755 });
  await promisify(execFile)(path.join(draft, 'unpack'), ['-o', folder, tar]);
  const inside = (name: string): string => path.join(folder, 'env', name);
  const strings = `\0before\0${inside('lib')}:${inside('share')}\0after\0`;
  await writeFile(inside('library.so'), `${'.'.repeat((1 << 20) - 50)}${strings}`, { mode: 0o444 });
  await writeFile(inside('odd.bin'), `\0${folder} has no end`);
  await writeFile(inside('code.pyc'), `\0${folder}\0`);
  await symlink(inside('bin/tiny'), inside('bin/linked'));
  await archiveInstalled(folder, platform, output, new AbortController().signal);
  return await readFile(output);
}

test('an installed environment is unpacked as it arrives, and its files name its new folder', async (t) => {
  const archive = await installedArchive(t);
  const command =
    'linked > model.pt; cd "$CONDA_PREFIX"; tr "\\0" "\\n" < library.so | tail -c +1048000 | grep -v "^$" >> "$OLDPWD/model.pt"' +
    '; stat -c %s library.so >> "$OLDPWD/model.pt"; grep -c __ odd.bin code.pyc >> "$OLDPWD/model.pt"';
  const { harness, exit, stderr } = await attemptWith(t, archive, {
    name: 'env-1a2b3c4d.tar.zst',
    sha256: sha256(archive),
    command,
  });
  assert.equal(exit, 0, stderr);
  const [said = '', ...rest] = harness.result('model.pt').trim().split('\n');
  const prefix = /^tiny in (.*\/software\/env)$/.exec(said)?.[1] ?? assert.fail(said);
  const size = (1 << 20) - 50;
  assert.match(rest.shift() ?? '', /^\.*$/);
  assert.deepEqual(rest.slice(0, 3), ['before', `${prefix}/lib:${prefix}/share`, 'after']);
  assert.ok(Number(rest[3]) > size + 400, 'strings keep their length');
  assert.deepEqual(rest.slice(4), ['odd.bin:1', 'code.pyc:1']);
  const phases = harness.entries('phase').map(({ phase }) => phase);
  assert.deepEqual(phases, ['preparing', 'fetching', 'unpacking', 'training', 'returning', 'cleaning']);
});

for (const [what, change, message, status] of [
  ['is for another system', { platform: 'osx-arm64' }, /it is for osx-arm64/, 104],
  ['is truncated', { share: 0.9 }, /env\.tar\.zst cannot be used: .*(?:end of file|zstd frame)/, 116],
  ['was published truncated', { share: 0.9, proven: true }, /(?:end of file|zstd frame)/, 104],
] as const)
  test(`an installed environment that ${what} is refused by name`, async (t) => {
    const { platform, share, proven } = { platform: undefined, share: 1, proven: false, ...change };
    const archive = cut(await installedArchive(t, platform), share);
    const reported = { name: 'env.tar.zst', ...(proven && { sha256: sha256(archive) }) };
    const { exit, stderr } = await attemptWith(t, archive, reported);
    assert.match(stderr, message);
    assert.equal(exit, status);
  });

for (const list of ['{', '{}', '{"folder":"/x","texts":["env/../../x"],"strings":[]}', undefined])
  test(`an installed environment whose list is ${list ?? 'missing'} is refused, and nothing is written`, async (t) => {
    const name = list === undefined ? 'other' : 'updraft-installed.json';
    const tar = Buffer.concat([tarEntry({ name, data: list ?? '' }), Buffer.alloc(1024)]);
    const { exit, stderr } = await attemptWith(t, zstdCompressSync(tar), { name: 'env.tar.zst' });
    assert.match(stderr, /updraft-installed\.json[^]*env pack --installed/);
    assert.equal(exit, 104);
  });

test('a plain tar is unpacked by the pixi-unpack that was sent along', async (t) => {
  const { exit, stderr } = await attemptWith(t, makePack(), { name: 'env.tar', unpacker: unpackProgram() });
  assert.equal(stderr, '');
  assert.equal(exit, 0);
});

test('train.check runs in the environment, too', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('env.sh'), makeExecutable(makePack()));
  const url = pathToFileURL(harness.at('env.sh')).href;
  const pack: OrderedData = { name: 'p', url, into: 'e', unpack: 'none', method: 'native', expect: {} };
  const { exit } = await harness.run({
    environment: { python: [], pack },
    train: { command: 'echo weights > model.pt', check: 'tiny' },
  });
  assert.equal(exit, 0);
});

const cut = (archive: Buffer, share: number): Buffer =>
  archive.subarray(0, Math.floor(archive.length * share));

const broken: [string, () => Buffer, RegExp, PackOptions?][] = [
  [
    'is truncated in its payload',
    () => cut(makeExecutable(makePack()), 0.5),
    /env-1a2b3c4d\.sh cannot be used: it is truncated in its payload/,
  ],
  [
    'is truncated in its program',
    () => makeExecutable(makePack()).subarray(0, -2),
    /truncated in its program/,
  ],
  [
    'is a truncated tar',
    () => cut(makePack(), 0.6),
    /env\.tar cannot be used: .*(truncated|ends|end)/,
    { name: 'env.tar', unpacker: unpackProgram() },
  ],
  [
    'is for another platform',
    () => makeExecutable(makePack({ metadata: { platform: 'osx-arm64' } })),
    /it is for osx-arm64, but this machine is linux-(64|aarch64)[^]*--platform linux/,
    { exit: 104 },
  ],
  [
    'is for another Linux platform',
    () => makeExecutable(makePack({ metadata: { platform: 'linux-ppc64le' } })),
    /it is for linux-ppc64le, but this machine is linux-(64|aarch64)[^]*--platform linux/,
  ],
  [
    'was published truncated',
    () => cut(makeExecutable(makePack()), 0.5),
    /truncated in its payload/,
    { exit: 104, proven: true },
  ],
  [
    'was published with a damaged package',
    () => makeExecutable(makePack({ damaged: true })),
    /the package tiny-1\.0-0\.conda in it is damaged/,
    { exit: 104, proven: true },
  ],
  [
    'is of a newer format',
    () => makeExecutable(makePack({ metadata: { version: '2' } })),
    /format version is 2, but Updraft supports 1/,
    { exit: 104 },
  ],
  [
    'holds a damaged package',
    () => makeExecutable(makePack({ damaged: true })),
    /the package tiny-1\.0-0\.conda in it is damaged/,
  ],
  [
    'is an HTML page',
    () => Buffer.from(`<!DOCTYPE html>${' '.repeat(2000)}`),
    /not a pixi-pack archive: it begins with "<!DOCTYPE html>/,
    { exit: 104 },
  ],
  [
    'is another script',
    () => Buffer.from(`#!/bin/sh\n${'true\n'.repeat(20_000)}`),
    /a script, but not from pixi-pack/,
    { exit: 104 },
  ],
  ['is empty', () => Buffer.alloc(0), /it is empty/],
  [
    'has no program when none was sent',
    () => makePack(),
    /pixi-unpack was not sent along[^]*pixi_unpack/,
    { name: 'env.tar' },
  ],
  [
    'makes its program fail',
    () => makePack(),
    /pixi-unpack failed on it \(made by pixi-pack 0\.7\.10\): no such luck/,
    { name: 'env.tar', unpacker: '#!/bin/sh\necho "no such luck" >&2; exit 1\n' },
  ],
];

for (const [what, make, message, reported] of broken)
  test(`an archive that ${what} is reported by name before any data moves`, async (t) => {
    const archive = make();
    const { harness, exit, stderr } = await attemptWith(t, archive, {
      ...reported,
      ...(reported?.proven === undefined ? {} : { sha256: sha256(archive) }),
      data: true,
    });
    assert.equal(exit, reported?.exit ?? 116);
    assert.match(stderr, message);
    assert.equal(harness.entries('fetched').filter(({ object }) => object.includes('data.bin')).length, 0);
  });

test('an archive with a wrong digest never runs', async (t) => {
  const archive = makeExecutable(makePack());
  const { harness, exit, stderr } = await attemptWith(t, archive, { sha256: 'ab'.repeat(32) });
  assert.equal(exit, 101);
  assert.match(stderr, /SHA-256 is [0-9a-f]{64}, should be abab/);
  assert.equal(harness.entries('environment-ready').length, 0);
});

test('a disk too small for the unpacked software is reported with sizes before anything is fetched', async (t) => {
  const { harness, exit, stderr } = await attemptWith(t, makeExecutable(makePack()), { bytes: 1e18 });
  assert.equal(exit, 107);
  assert.match(stderr, /unpacking env-1a2b3c4d\.sh needs [\d.]+ PB, .* free \(archive 750 PB \+ /);
  assert.deepEqual(harness.entries('fetched'), []);
});

test('the fixture is a working self-extracting archive: bash unpacks it', async (t) => {
  const folder = await temporaryFolder(t);
  const file = path.join(folder, 'environment.sh');
  await writeFile(file, makeExecutable(makePack()), { mode: 0o755 });
  await promisify(execFile)(file, [], { cwd: folder, env: { ...process.env, TMPDIR: folder } });
  assert.ok(existsSync(path.join(folder, 'env', 'bin', 'tiny')));
  assert.match(await readFile(path.join(folder, 'activate.sh'), 'utf8'), /CONDA_PREFIX/);
});
