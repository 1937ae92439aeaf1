import { execFileSync } from 'node:child_process';
import { createCipheriv, createHash, type Hash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { sha256Of } from '@updraft/base/disk';
import { archiveInstalled } from '../../src/environment/installed-pack.ts';
import { condaPlatform } from '../../src/environment/pack-splitter.ts';
import { type CondaPackage, makeConda, placeholder } from '../../test/environment/make-conda.ts';
import { executableParts, packParts } from '../../test/environment/make-pack.ts';

/** How many packages of which kind; by default about those of a GPU build of PyTorch. */
export interface Recipe {
  packages: number;
  filesInEach: number;
  /** Packages with libraries of this many MB. */
  libraries: number;
  megabytesInEach: number;
}

/** A pack as a job file names it. */
export interface Archive {
  file: string;
  sha256: string;
  bytes: number;
}

export interface PackedEnvironment {
  tar: string;
  /** Self-extracting. */
  executable: Archive;
  packedBytes: number;
  files: number;
  unpackedBytes: number;
}

const block = 1 << 16;
/** Incompressible bytes per block: conda packages unpack to about 2.5 times their size. */
const noise = Math.round(block * 0.4);
const filler = Buffer.alloc(block, 'def forward(self, x): return self.layer(x)\n');

/** The same bytes on every machine. */
function contentOf(name: string, bytes: number): Buffer {
  const key = createHash('sha256').update(name).digest();
  const cipher = createCipheriv('aes-128-ctr', key.subarray(0, 16), key.subarray(16));
  const content = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += block) {
    const random = cipher.update(Buffer.alloc(Math.min(noise, bytes - at)));
    random.copy(content, at);
    filler.copy(content, at + random.length, 0, Math.max(0, Math.min(block, bytes - at) - random.length));
  }
  return content;
}

/** Sizes of Python's files: many small ones, a few large ones. */
const sizeOf = (index: number): number => 500 + ((index * 7919) % 97) ** 2 * 4;

/** Generates one package after another. */
function* packagesOf(recipe: Recipe, count: (files: number, bytes: number) => void): Generator<CondaPackage> {
  const make = (name: string, files: Record<string, string | Buffer>): CondaPackage => {
    const sizes = Object.values(files).map((content) => Buffer.byteLength(content));
    count(
      sizes.length,
      sizes.reduce((sum, one) => sum + one, 0),
    );
    return makeConda(name, '1.0', files);
  };
  yield make('python', {
    'bin/packed': `#!/bin/sh\necho "packed in ${placeholder}, $PACKED_ACTIVE"\n`,
    'etc/conda/activate.d/packed.sh': 'export PACKED_ACTIVE=yes\n',
  });
  for (let which = 0; which < recipe.packages; which++)
    yield make(
      `module-${which}`,
      Object.fromEntries(
        Array.from({ length: recipe.filesInEach }, (_, index) => {
          const file = `lib/python3.13/site-packages/module_${which}/part_${index % 20}/file_${index}.py`;
          return [file, contentOf(file, sizeOf(index))];
        }),
      ),
    );
  for (let which = 0; which < recipe.libraries; which++) {
    const file = `lib/liblarge_${which}.so`;
    yield make(`large-${which}`, { [file]: contentOf(file, recipe.megabytesInEach * 1e6) });
  }
}

function write(file: string, parts: Iterable<Buffer>, hash?: Hash): number {
  const fd = openSync(file, 'wx');
  let bytes = 0;
  for (const part of parts) {
    hash?.update(part);
    for (let at = 0; at < part.length;) at += writeSync(fd, part, at);
    bytes += part.length;
  }
  closeSync(fd);
  return bytes;
}

function* piecesOf(file: string): Generator<Buffer> {
  const fd = openSync(file, 'r');
  const piece = Buffer.alloc(3 << 20);
  for (let read = readSync(fd, piece); read > 0; read = readSync(fd, piece)) yield piece.subarray(0, read);
  closeSync(fd);
}

/** An archive as pixi-pack makes it, plain, and self-extracting with the program that unpacks it. */
export function makeArchive(folder: string, recipe: Recipe, unpacker: Buffer): PackedEnvironment {
  const [tar, file] = [`${folder}/environment.tar`, `${folder}/environment.sh`];
  let [files, unpackedBytes] = [0, 0];
  const packages = packagesOf(recipe, (more, bytes) => {
    files += more;
    unpackedBytes += bytes;
  });
  const packedBytes = write(tar, packParts({ packages }));
  const hash = createHash('sha256');
  const bytes = write(file, executableParts(piecesOf(tar), { unpacker }), hash);
  return { tar, executable: { file, sha256: hash.digest('hex'), bytes }, packedBytes, files, unpackedBytes };
}

/** The same environment, as `env pack --installed` makes it. */
export async function installArchive(folder: string, tar: string, unpacker: string): Promise<Archive> {
  const installed = path.join(folder, 'installed'.padEnd(220, '_'));
  const file = path.join(folder, 'environment.tar.zst');
  mkdirSync(installed);
  execFileSync(unpacker, ['-o', installed, tar], { env: { ...process.env, TMPDIR: folder } });
  await archiveInstalled(installed, condaPlatform(os.arch()), file, new AbortController().signal);
  rmSync(installed, { recursive: true });
  return { file, sha256: await sha256Of(file), bytes: statSync(file).size };
}
