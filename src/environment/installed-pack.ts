import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile, readlink, symlink, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { archiveKind } from '@updraft/base';
import { walkTree } from '@updraft/base/disk';
import { brokenPack, checkPlatform, wrongPack } from './pack-splitter.ts';

/** What must be changed when the environment moves; at the top of the archive of an installed one. */
const listName = 'updraft-installed.json';
const remake = 'make it with: updraft env pack --installed';

interface Installed {
  platform: string;
  /** Where it was installed. */
  folder: string;
  /** Files of text that name the folder. */
  texts: string[];
  /** Strings in binary files that name it, up to the zero byte that ends them: file, first byte, length. */
  strings: [string, number, number][];
}

/** Whether a pack is of an installed environment, by its name: it is unpacked as it arrives, without pixi-unpack. */
export const isInstalledPack = (url: string): boolean =>
  archiveKind(url.replace(/[?#].*$/, '')) === 'tar.zst';

/** Paths are bytes; Latin-1 keeps each as one character. */
const latin = (text: string): string => Buffer.from(text).toString('latin1');

/** Makes the archive of the environment that was installed in `folder`, whose path must be long: it can only shrink. */
export async function archiveInstalled(
  folder: string,
  platform: string,
  output: string,
  signal: AbortSignal,
): Promise<void> {
  const list: Installed = { platform, folder, texts: [], strings: [] };
  for (const { name, kind } of await walkTree(folder)) {
    const file = path.join(folder, name);
    if (kind === 'link') await relink(file, folder);
    // Python corrects the paths in compiled files itself.
    else if (kind === 'file' && !name.endsWith('.pyc')) {
      const { isText, found } = await findMentions(file, folder);
      if (found.length > 0 && isText) list.texts.push(name);
      else for (const [at, length] of await stringsAt(file, found)) list.strings.push([name, at, length]);
    }
    signal.throwIfAborted();
  }
  await writeFile(path.join(folder, listName), JSON.stringify(list));
  const words = ['--owner=0', '--group=0', '--numeric-owner', '-cf', '-', '-C', folder, '.'];
  const tar = spawn('tar', words, { stdio: ['ignore', 'pipe', 'inherit'], signal });
  const ended = once(tar, 'close');
  // Not with several workers: Node 24 then ends before its last bytes.
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 9 } });
  await pipeline(tar.stdout, compress, createWriteStream(output, { flags: 'wx' }), { signal });
  if ((await ended)[0] !== 0) throw brokenPack(path.basename(output), 'tar failed on it');
}

/** A link within the environment must lead there from anywhere. */
async function relink(file: string, folder: string): Promise<void> {
  const target = await readlink(file);
  if (!target.startsWith(`${folder}/`)) return;
  await unlink(file);
  await symlink(path.relative(path.dirname(file), target), file);
}

async function findMentions(file: string, folder: string): Promise<{ isText: boolean; found: number[] }> {
  const wanted = Buffer.from(folder);
  const found: number[] = [];
  let [kept, start, isText] = [Buffer.alloc(0), 0, true];
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) {
    const bytes = Buffer.concat([kept, piece as Buffer]);
    isText &&= !bytes.includes(0);
    for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + wanted.length))
      found.push(start + at);
    // A mention may begin in one piece and end in the next.
    kept = bytes.subarray(Math.max(0, bytes.length - wanted.length + 1));
    start += bytes.length - kept.length;
  }
  return { isText, found };
}

const maxString = 1 << 16;

/** The first byte and the length of each string that holds mentions. What no zero byte ends is not a string. */
async function stringsAt(file: string, mentions: number[]): Promise<[number, number][]> {
  const strings: [number, number][] = [];
  await using handle = await open(file);
  let last = 0;
  for (const at of mentions) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxString), 0, maxString, at);
    const length = buffer.subarray(0, bytesRead).indexOf(0);
    if (at < last || length === -1) continue;
    strings.push([at, length]);
    last = at + length;
  }
  return strings;
}

/** Replaces the old folder by `target` in the files of an installed environment. */
export async function settleInstalled(target: string, name: string, here: string): Promise<void> {
  const { platform, folder, texts, strings } = await readList(target, name);
  checkPlatform({ platform }, here, name);
  if (Buffer.byteLength(target) > Buffer.byteLength(folder))
    throw brokenPack(name, `${target} is longer than the path where it was installed`, remake);
  const moved = (bytes: Buffer): Buffer =>
    Buffer.from(
      bytes.toString('latin1').replaceAll(latin(folder), () => latin(target)),
      'latin1',
    );
  // What was unpacked is writable, whatever its mode was.
  for (const file of texts) {
    const whole = path.join(target, file);
    await writeFile(whole, moved(await readFile(whole)));
  }
  for (const [file, at, length] of strings) {
    await using handle = await open(path.join(target, file), 'r+');
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, at);
    const string = Buffer.alloc(length);
    moved(buffer).copy(string);
    await handle.write(string, 0, length, at);
  }
}

async function readList(target: string, name: string): Promise<Installed> {
  try {
    const list = JSON.parse(await readFile(path.join(target, listName), 'utf8')) as Installed;
    const files = [...list.texts, ...list.strings.map(([file]) => file)];
    if (files.every((file) => !file.split('/').includes('..'))) return list;
  } catch {
    // Refused below, as is one that leads out of its folder.
  }
  throw wrongPack(name, `it has no usable ${listName}`, remake);
}
