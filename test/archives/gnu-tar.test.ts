import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  linkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { walkTree } from '@updraft/base/disk';
import { openUnpacker, type UnpackerOptions } from '@updraft/archive';

const missing = (...tools: string[]): string | false => {
  const absent = tools.filter((tool) => spawnSync(tool, ['--version']).status !== 0);
  return absent.length > 0 && `${absent.join(', ')} not installed`;
};

const formats = [
  { tool: 'tar', name: 'gnu.tar', flags: ['--format=gnu'] },
  { tool: 'tar', name: 'pax.tar', flags: ['--format=pax'] },
  { tool: 'tar', name: 'v7.tar', flags: ['--format=v7', '--exclude=*long*'] },
  { tool: 'gzip', name: 'data.tar.gz', flags: ['--gzip'] },
  { tool: 'zstd', name: 'data.tar.zst', flags: ['--zstd'] },
] as const;

for (const { tool, name, flags } of formats)
  test(
    `${name} is unpacked as by GNU tar: names, bytes, modes, times and links`,
    { skip: missing('tar', tool) },
    async (t) => {
      const folder = scratch(t);
      makeTree(path.join(folder, 'tree'));
      const archive = path.join(folder, name);
      execFileSync('tar', [...flags, '-cf', archive, '-C', path.join(folder, 'tree'), '.']);
      mkdirSync(path.join(folder, 'theirs'));
      execFileSync('tar', ['--no-same-permissions', '-xf', archive, '-C', path.join(folder, 'theirs')]);
      await unpack(archive, 'auto', path.join(folder, 'ours'));
      assert.deepEqual(await listing(path.join(folder, 'ours')), await listing(path.join(folder, 'theirs')));
    },
  );

test('a tar of tars is unpacked as by tar in two steps', { skip: missing('tar') }, async (t) => {
  const folder = scratch(t);
  const [classes, theirs] = [path.join(folder, 'classes'), path.join(folder, 'theirs')];
  mkdirSync(classes);
  makeTree(path.join(folder, 'tree'));
  for (const name of ['n01440764', 'n01443537', 'n02119789']) {
    execFileSync('tar', ['-cf', path.join(classes, `${name}.tar`), '-C', path.join(folder, 'tree'), '.']);
    mkdirSync(path.join(theirs, name), { recursive: true });
    execFileSync('tar', [
      '--no-same-permissions',
      '-xf',
      path.join(classes, `${name}.tar`),
      '-C',
      path.join(theirs, name),
    ]);
  }
  const archive = path.join(folder, 'train.tar');
  execFileSync('tar', ['-cf', archive, '-C', classes, '.']);
  await unpack(archive, 'nested', path.join(folder, 'ours'));
  const [ours, expected] = [await listing(path.join(folder, 'ours')), await listing(theirs)];
  assert.deepEqual(ours, expected);
});

function scratch(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'updraft-gnu-tar-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Files of many sizes and modes, long names, links, an empty folder. */
function makeTree(root: string): void {
  const long = path.join(root, ...Array.from({ length: 12 }, (_, i) => `long-folder-name-${i}`));
  mkdirSync(long, { recursive: true });
  mkdirSync(path.join(root, 'empty'), { mode: 0o750 });
  for (const size of [0, 1, 511, 512, 513, 70_000, 300_000])
    writeFileSync(
      path.join(root, `f${size}`),
      Buffer.from(Array.from({ length: size }, (_, i) => (i * i + size) % 251)),
      { mode: size % 2 === 0 ? 0o755 : 0o640 },
    );
  writeFileSync(path.join(long, `${'long-'.repeat(30)}.txt`), 'long');
  writeFileSync(path.join(root, 'sp ace and é.txt'), 'text');
  symlinkSync('f513', path.join(root, 'link'));
  symlinkSync(`../${'x'.repeat(120)}`, path.join(root, 'empty', 'long-target'));
  linkSync(path.join(root, 'f511'), path.join(root, 'second-name'));
  utimesSync(path.join(root, 'f1'), 1_600_000_000, 1_600_000_000);
  utimesSync(path.join(root, 'empty'), 1_500_000_000, 1_500_000_000);
}

async function listing(root: string): Promise<string[]> {
  return (await walkTree(root)).map(({ name }) => {
    const full = path.join(root, name);
    const stat = lstatSync(full);
    const mode = (stat.mode & 0o777).toString(8);
    if (stat.isSymbolicLink()) return `${name} -> ${readlinkSync(full)}`;
    const seconds = Math.floor(stat.mtimeMs / 1000);
    if (stat.isDirectory()) return `${name}/ ${mode} ${seconds}`;
    return `${name} ${mode} ${seconds} ${stat.nlink} ${createHash('sha256').update(readFileSync(full)).digest('hex')}`;
  });
}

async function unpack(archive: string, mode: UnpackerOptions['mode'], into: string): Promise<void> {
  const unpacker = openUnpacker({ name: path.basename(archive), mode, into });
  const bytes = readFileSync(archive);
  for (let at = 0; at < bytes.length; at += 60_000) {
    const waiting = unpacker.write(bytes.subarray(at, at + 60_000));
    if (waiting !== undefined) await waiting;
  }
  await unpacker.finish();
}
