import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { seededRandom } from '@updraft/account/testing';

const classes = 8;
const pictures = 8;
const pictureBytes = 125_000;
const features = 16;

/** The training data of the jobs, on this machine. */
export interface Dataset {
  /** Folder with `train.tar`, a tar of a tar per class, and `weights.json`: what the federation publishes. */
  published: string;
  /** The same data as folders. */
  unpacked: string;
  bytes: number;
  sha256: string;
}

/** Makes the data, reproducibly from the seed. */
export function makeDataset(folder: string, seed: number): Dataset {
  const random = seededRandom(seed);
  const [published, unpacked] = [path.join(folder, 'published'), path.join(folder, 'pictures')];
  mkdirSync(published, { recursive: true });
  const names = Array.from({ length: classes }, (_, index) => `n${String(index).padStart(8, '0')}`);
  for (const name of names) {
    mkdirSync(path.join(unpacked, name), { recursive: true });
    for (let picture = 0; picture < pictures; picture++)
      writeFileSync(path.join(unpacked, name, `${picture}.jpeg`), randomBytes(pictureBytes, random));
    tar(unpacked, `${name}.tar`, ['-C', name, '.']);
  }
  const archive = path.join(published, 'train.tar');
  const inner = names.map((name) => `${name}.tar`);
  tar(unpacked, archive, inner);
  for (const name of inner) rmSync(path.join(unpacked, name));
  const weights = names.map(() => Array.from({ length: features }, () => random() - 0.5));
  writeFileSync(path.join(published, 'weights.json'), JSON.stringify(weights));
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex');
  return { published, unpacked, bytes: statSync(archive).size, sha256 };
}

function tar(cwd: string, file: string, what: string[]): void {
  execFileSync('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '-cf', file, ...what], { cwd });
}

function randomBytes(length: number, random: () => number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at++) bytes[at] = random() * 256;
  return bytes;
}
