import { createHash } from 'node:crypto';
import { chmod, mkdir, open, readdir, realpath, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from '@updraft/base';
import { piecesOf } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import type { AgentBodyOf } from '@updraft/account/journal';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Attempt } from '../attempt.ts';

/** `path` is relative to the folder the copy was made in. */
type Copied = Omit<AgentBodyOf<'output'>, 'kind'>;

interface CopyOptions {
  signal: AbortSignal;
  /** Links must not point outside this folder. */
  within?: string;
  onCopied?: (copied: Copied) => void;
}

/** Copies `name` (a file, or a folder with its contents) to another folder; links are replaced by their targets. */
export async function copyTree(name: string, from: string, to: string, options: CopyOptions): Promise<void> {
  await copyEntry(name, from, to, [], options);
}

async function copyEntry(
  name: string,
  from: string,
  to: string,
  above: string[],
  options: CopyOptions,
): Promise<void> {
  options.signal.throwIfAborted();
  const source = await realpath(path.join(from, name));
  if (options.within !== undefined && !isWithin(source, options.within))
    throw new Fault('wrong-output', `${name} is a link to ${source}, outside the work folder`, {
      about: name,
    });
  const target = path.join(to, name);
  const info = await stat(source);
  if (info.isDirectory()) {
    if (above.includes(source))
      throw new Fault('wrong-output', `${name} is a link to a folder that contains it`);
    await mkdir(target, { recursive: true });
    for (const child of (await readdir(source)).sort())
      await copyEntry(path.join(name, child), from, to, [...above, source], options);
  } else if (info.isFile()) {
    await mkdir(path.dirname(target), { recursive: true });
    const sha256 = await copyAndHash(source, target, options.signal);
    await chmod(target, info.mode & 0o777);
    await utimes(target, info.atime, info.mtime);
    options.onCopied?.({ path: path.normalize(name), bytes: info.size, sha256 });
  }
}

/** Whether a path, links resolved, is the folder or is inside it. */
export function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

/** Copies a file, in pieces so that it can be stopped, and returns the SHA-256 of its bytes. */
export async function copyAndHash(source: string, target: string, signal: AbortSignal): Promise<string> {
  await using input = await open(source, 'r');
  await using output = await open(target, 'w', 0o600);
  const hash = createHash('sha256');
  for await (const piece of piecesOf(input, signal)) {
    const written = output.writeFile(piece);
    hash.update(piece);
    await written;
  }
  return hash.digest('hex');
}

/** Copies the user's files into the work folder; returns a hash of them and the command, which identifies the code. */
export async function stageFiles({ order, scratch, context }: Attempt): Promise<string> {
  const { signal } = context;
  const { command, files } = order.job.train;
  const version = createHash('sha256').update(JSON.stringify(command));
  for (const name of files) {
    try {
      await copyTree(name, order.filesFrom, scratch.work, {
        signal,
        onCopied: ({ path, sha256 }) => void version.update(JSON.stringify([path, sha256])),
      });
    } catch (error) {
      if (!isGone(error)) throw error;
      throw new Fault('order-invalid', `the file ${name} is not in ${order.filesFrom}`, {
        fix: `put ${name} there, or remove it from \`files\``,
        about: name,
        cause: error,
      });
    }
  }
  return version.digest('hex');
}

const firstBytes = Buffer.from('PK\u0003\u0004', 'latin1');
/** The record at the end of a zip: 22 bytes, of which the last two are the length of the comment that follows. */
const endBytes = Buffer.from('PK\u0005\u0006', 'latin1');
const endLength = 22;
const maxComment = 0xffff;

/** Whether a file begins as a zip, as `torch.save` and `np.savez` write it, and has no end: it was cut short. */
export function isCutZip(file: string): boolean {
  const opened = openSync(file, 'r');
  const read = (from: number, length: number): Buffer => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(opened, bytes, 0, length, from));
  };
  try {
    if (!read(0, firstBytes.length).equals(firstBytes)) return false;
    const tail = read(Math.max(0, fstatSync(opened).size - endLength - maxComment), endLength + maxComment);
    for (let at = tail.lastIndexOf(endBytes); at !== -1; at = tail.subarray(0, at).lastIndexOf(endBytes))
      if (at + endLength <= tail.length && at + endLength + tail.readUInt16LE(at + 20) === tail.length)
        return false;
    return true;
  } finally {
    closeSync(opened);
  }
}
