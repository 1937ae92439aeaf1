import { execFile } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { isThere } from '@updraft/base';
import type { MiniPoolState } from '@updraft/mini/pool';
import { uncompressed } from './condor/make-image.ts';

const run = promisify(execFile);

/** An image with PyTorch, made from the pool's root folder and kept beside it; uncompressed, to save time. */
export async function torchImage({ root, bin }: MiniPoolState): Promise<string> {
  const image = `${root}.sif`;
  if (await isThere(image)) return image;
  const draft = `${root}.image-${process.pid}`;
  try {
    await mkdir(draft);
    // A copy in which we own everything: Apptainer cannot assign files to users outside its namespace.
    const leftOut = ['proc', 'sys', 'dev', 'var/cache', 'usr/share', 'usr/lib/condor', 'usr/libexec/condor'];
    const words = leftOut.map((name) => `--exclude=./${name}/*`).join(' ');
    const copy = `tar -C "$1" ${words} -cf - . | tar -C "$2" --no-same-owner -xf -`;
    await run('sh', ['-c', copy, 'sh', root, draft]);
    await run(path.join(bin, 'apptainer'), ['build', ...uncompressed, `${draft}.sif`, draft], {
      maxBuffer: 1 << 24,
    });
    await rename(`${draft}.sif`, image);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return image;
}
