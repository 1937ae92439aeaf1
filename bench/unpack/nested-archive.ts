import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { manifestOf } from '../manifest-of.ts';

export interface NestedArchive {
  file: string;
  manifestFile: string;
  files: number;
  /** Bytes of the unpacked files. */
  unpackedBytes: number;
  /** Hash over names and bytes of all unpacked files. */
  hash: string;
}

const fileBytes = 110_000;

/** A tar of class tars, like ImageNet's training set: each class is a tar of pictures. Made by GNU tar. */
export function makeNestedArchive(folder: string, classes: number, filesPerClass: number): NestedArchive {
  const whole = createHash('sha256');
  const inner = path.join(folder, 'inner');
  const pool = randomBytes(8 << 20);
  for (let index = 0; index < classes; index++) {
    const name = `n${String(index).padStart(8, '0')}`;
    const pictures = path.join(inner, name);
    mkdirSync(pictures, { recursive: true });
    for (let each = 0; each < filesPerClass; each++) {
      const at = (index * 7919 + each * 104_729) % (pool.length - fileBytes);
      const bytes = pool.subarray(at, at + fileBytes);
      const picture = `${name}_${String(each).padStart(5, '0')}.JPEG`;
      writeFileSync(path.join(pictures, picture), bytes);
      addToHash(whole, `${name}/${picture}`, bytes);
    }
    execFileSync('tar', ['-cf', `${pictures}.tar`, '--sort=name', '-C', pictures, '.']);
    rmSync(pictures, { recursive: true });
  }
  const file = path.join(folder, 'train.tar');
  execFileSync('tar', ['-cf', file, '--sort=name', '--remove-files', '-C', inner, '.']);
  const manifestFile = path.join(folder, 'train.tar.manifest.json');
  writeFileSync(manifestFile, JSON.stringify(manifestOf(file)));
  const files = classes * filesPerClass;
  return { file, manifestFile, files, unpackedBytes: files * fileBytes, hash: whole.digest('hex') };
}

export function addToHash(hash: ReturnType<typeof createHash>, name: string, bytes: Buffer): void {
  hash.update(`${name}\0${bytes.length}\0`).update(bytes);
}
