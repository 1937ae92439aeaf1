import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { asFault, Fault } from '@updraft/account/fault';
import { describeFull, isFull } from '@updraft/account/run-folder';
import type { WorkOrder } from '../job/job.ts';

/** The attempt's own folder, removed at its end. */
export interface Scratch {
  root: string;
  /** Where the training runs; the user's paths are relative to it. */
  work: string;
  /** First on the training's PATH. */
  bin: string;
  /** Last on the training's PYTHONPATH: holds the package `updraft`. */
  python: string;
  /** The training's TMPDIR, a short path: sockets of PyTorch's data loaders there have at most 107 characters. */
  tmp: string;
  /** Where data stays until it is complete; on the same file system as `work`. */
  stage: string;
  /** The file to which the training may write its progress. */
  progress: string;
}

/** Creates a new folder that only this user can read. */
export function makeScratch({ scratchParent: parent }: WorkOrder): Scratch {
  let root: string | undefined;
  try {
    root = realpathSync(mkdtempSync(path.join(parent, 'updraft-')));
    const scratch = scratchAt(root);
    for (const part of ['work', 'bin', 'python', 'tmp', 'stage'] as const) mkdirSync(scratch[part]);
    placeLibrary(path.join(scratch.python, 'updraft'));
    return scratch;
  } catch (error) {
    if (root !== undefined) rmSync(root, { recursive: true });
    throw unusable(parent, error);
  }
}

/** The parts of the scratch folder at this path. */
export function scratchAt(root: string): Scratch {
  const part = (name: string): string => path.join(root, name);
  return {
    root,
    work: part('work'),
    bin: part('bin'),
    python: part('python'),
    tmp: part('t'),
    stage: part('stage'),
    progress: part('progress.jsonl'),
  };
}

function unusable(parent: string, error: unknown): Fault {
  if (isFull(error)) return diskFull(parent, error);
  return new Fault(
    'scratch-unusable',
    `cannot create a scratch folder in ${parent}: ${asFault(error).message}`,
    {
      fix: `make sure that ${parent} exists and is writable`,
      about: parent,
      cause: error,
    },
  );
}

/** Anything thrown, as a Fault; if a disk is full, of that in this folder. */
export const faultIn = (folder: string, thrown: unknown): Fault =>
  !(thrown instanceof Fault) && isFull(thrown) ? diskFull(folder, thrown) : asFault(thrown);

/** Names the full disk and its size. */
export function diskFull(folder: string, cause: unknown): Fault {
  return new Fault('disk-full', `${folder} is full: ${describeFull(folder, cause)}`, {
    fix: 'ask for more `disk` in [resources], or free space on this machine',
    about: folder,
    cause,
  });
}

/** The package `updraft`, in an executable, which has no files beside its code: Brotli, as text. */
declare const UPDRAFT_LIBRARY: string | undefined;

/** 27 characters from `#` on, with `!` for the backslash, are 22 bytes: 5 kB less than base64. */
const toHex = (block: string): string =>
  Buffer.from(block.replaceAll('!', '\\'))
    .reduce((word, digit) => word * 92n + BigInt(digit - 35), 0n)
    .toString(16)
    .padStart(44, '0');

/** Places the package `updraft`, which a training may import. Of what is carried, a file's first line is its name. */
function placeLibrary(folder: string): void {
  if (typeof UPDRAFT_LIBRARY === 'undefined') {
    cpSync(new URL('../../python/updraft', import.meta.url), folder, { recursive: true });
    return;
  }
  mkdirSync(folder);
  const packed = Buffer.from(UPDRAFT_LIBRARY.replaceAll(/.{27}/g, toHex), 'hex');
  for (const [, name = '', text] of brotliDecompressSync(packed)
    .toString()
    .matchAll(/(.*)\n([^\0]*)\0?/g))
    writeFileSync(path.join(folder, name), text ?? '');
}
