import os from 'node:os';
import path from 'node:path';
import { condaPlatform } from '../../src/environment/pack-splitter.ts';
import { tarEntry } from '../archives/make-tar.ts';
import { type CondaPackage, makeConda, placeholder } from './make-conda.ts';

interface PackOptions {
  packages?: Iterable<CondaPackage>;
  metadata?: Record<string, unknown>;
  /** The packages do not match the channel's index. */
  damaged?: boolean;
}

/** A package with a program that prints its folder, and an activation script. */
export const tinyPackage = (): CondaPackage =>
  makeConda('tiny', '1.0', {
    'bin/tiny': `#!/bin/sh\necho "tiny in ${placeholder}"\n`,
    'etc/conda/activate.d/tiny.sh': 'export TINY_ACTIVE="yes, $CONDA_PREFIX"\n',
  });

/** The tar that pixi-pack writes: a channel, an environment.yml, and its metadata. */
export const makePack = (options: PackOptions = {}): Buffer => Buffer.concat([...packParts(options)]);

/** The same in pieces: with a lazy iterable, one package is in memory at a time. */
export function* packParts({
  packages = [tinyPackage()],
  metadata,
  damaged = false,
}: PackOptions): Generator<Buffer> {
  const records: [string, CondaPackage['record']][] = [];
  const said = {
    version: '1',
    'pixi-pack-version': '0.7.10',
    platform: condaPlatform(os.arch()),
    ...metadata,
  };
  const file = (name: string, data: string | Buffer): Buffer => tarEntry({ name, data, mtime: 0 });
  const folder = (name: string): Buffer => tarEntry({ name, type: '5', mode: 0o755, mtime: 0 });
  yield folder('channel');
  yield folder('channel/linux-64');
  for (const one of packages) {
    const bytes = Buffer.from(one.bytes);
    if (damaged) bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
    records.push([one.file, one.record]);
    yield file(`channel/linux-64/${one.file}`, bytes);
  }
  const index = {
    info: { subdir: 'linux-64' },
    packages: {},
    'packages.conda': Object.fromEntries(records),
    repodata_version: 2,
  };
  const specs = records.map(
    ([, { name, version, build }]) => `  - ${String(name)}=${String(version)}=${String(build)}\n`,
  );
  yield file('channel/linux-64/repodata.json', JSON.stringify(index, undefined, 2));
  yield file('environment.yml', `channels:\n  - ./channel\n  - nodefaults\ndependencies:\n${specs.join('')}`);
  yield file('pixi-pack.json', JSON.stringify(said));
  yield Buffer.alloc(1024);
}

/** A fake pixi-unpack, which is not on every machine: same arguments, same files. */
export const unpackProgram = (): string =>
  `#!/bin/sh\nexec '${process.execPath}' '${path.join(import.meta.dirname, 'stand-in-unpack.ts')}' "$@"\n`;

/**
 * The same for workers of a pool, which see nothing of this machine: it writes what is in `tinyPackage`, whatever the
 * archive.
 */
export const unpackTiny = (): Buffer =>
  Buffer.from(
    [
      '#!/bin/sh',
      'out=.; name=env',
      'while [ $# -gt 1 ]; do case $1 in -o|--output-directory) out=$2;; -e|--env-name) name=$2;; esac; shift; done',
      'prefix=$(cd "$out" && pwd)/$name',
      'mkdir -p "$prefix/bin"',
      `printf '#!/bin/sh\\necho "tiny in %s"\\n' "$prefix" > "$prefix/bin/tiny"`,
      'chmod +x "$prefix/bin/tiny"',
      'cat > "$out/activate.sh" <<END',
      'export PATH="$prefix/bin:\\$PATH"',
      'export CONDA_PREFIX="$prefix"',
      'export TINY_ACTIVE="yes, $prefix"',
      'END',
      '',
    ].join('\n'),
  );

/** A self-extracting archive: a script, the tar in one line of base64, a mark, the unpacking program in base64. */
export function makeExecutable(tar: Buffer, options: { old?: boolean; unpacker?: Buffer } = {}): Buffer {
  return Buffer.concat([...executableParts([tar], options)]);
}

/** The same in pieces; the length of each input piece but the last must be a multiple of 3. */
export function* executableParts(
  tar: Iterable<Buffer>,
  { old = false, unpacker = Buffer.from(unpackProgram()) }: { old?: boolean; unpacker?: Buffer } = {},
): Generator<Buffer> {
  const program = old ? 'pixi-pack' : 'pixi-unpack';
  const header = [
    '#!/usr/bin/env bash',
    'set -eu',
    'folder=$(mktemp -d)',
    `first=$(( $(grep -anm 1 '^@@END_HEADER@@' "$0" | cut -d: -f1) + 2 ))`,
    `last=$(( $(grep -anm 1 '^@@END_ARCHIVE@@' "$0" | cut -d: -f1) - 1 ))`,
    'sed -n "$first,${last}p" "$0" | base64 -d > "$folder/archive.tar"',
    `sed -n "$(( last + 2 )),\\$p" "$0" | base64 -d > "$folder/${program}"`,
    `chmod +x "$folder/${program}"`,
    `"$folder/${program}" ${old ? 'unpack ' : ''}"$@" "$folder/archive.tar"`,
    'rm -rf "$folder"',
    'exit 0',
    '@@END_HEADER@@',
    '',
  ].join('\n');
  yield Buffer.from(`${header}\n`);
  for (const piece of tar) yield Buffer.from(piece.toString('base64'));
  yield Buffer.from(`\n@@END_ARCHIVE@@\n${unpacker.toString('base64')}`);
}
