import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
  readFileSync,
} from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { asFault, Fault } from '../fault/fault.ts';
import { describeFull, isFull } from '../job/full-disk.ts';
import type { WorkOrder } from '../job/job.ts';

/** The attempt's own folder, removed at its end. */
export interface Scratch {
  root: string;
  /** Where the training runs; the user's paths are relative to it. */
  work: string;
  /** First on the training's PATH. */
  bin: string;
  /** Last on the training's PYTHONPATH: holds `updraft.py`. */
  python: string;
  /** The training's TMPDIR, a short path: the sockets that PyTorch's data loaders create there are limited to 107 characters. */
  tmp: string;
  /** Where data stays until it is complete; on the same file system as `work`. */
  stage: string;
  /** The file to which the training may write its progress. */
  progress: string;
}

/** Creates a new folder that only this user can read. */
export function makeScratch(order: WorkOrder): Scratch {
  const parent = order.scratchParent;
  let root: string;
  try {
    root = realpathSync(mkdtempSync(path.join(parent, 'updraft-')));
    chmodSync(root, 0o700);
  } catch (error) {
    throw unusable(parent, error);
  }
  try {
    const scratch = scratchAt(root);
    for (const part of ['work', 'bin', 'python', 'tmp', 'stage'] as const)
      mkdirSync(scratch[part], { mode: 0o700 });
    writeFileSync(path.join(scratch.python, 'updraft.py'), trainingLibrary());
    return scratch;
  } catch (error) {
    rmSync(root, { recursive: true });
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
  const { message } = error as Error;
  if (isFull(error)) return diskFull(parent, error);
  return new Fault('scratch-unusable', `cannot create a scratch folder in ${parent}: ${message}`, {
    fix: `make sure that ${parent} exists and is writable`,
    about: parent,
    cause: error,
  });
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

/** `updraft.py`, in an executable, which has no files beside its code: Brotli, as text. */
declare const UPDRAFT_LIBRARY: string | undefined;

/** Five characters from `(` on, and `~` for the backslash, are four bytes: 3 kB less than base64. */
function fromBase85(text: string): Buffer {
  const bytes = Buffer.alloc((text.length / 5) * 4);
  for (let at = 0, word = 0; at < text.length; at += 1) {
    word = word * 85 + (text[at] === '~' ? 92 : text.charCodeAt(at)) - 40;
    if (at % 5 < 4) continue;
    bytes.writeUInt32BE(word, ((at - 4) / 5) * 4);
    word = 0;
  }
  return bytes;
}

/** The text of `updraft.py`, which a training may import. */
const trainingLibrary = (): string =>
  typeof UPDRAFT_LIBRARY === 'undefined'
    ? readFileSync(new URL('../../python/updraft.py', import.meta.url), 'utf8')
    : brotliDecompressSync(fromBase85(UPDRAFT_LIBRARY)).toString('utf8');
