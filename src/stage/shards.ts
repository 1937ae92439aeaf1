import { createHash, randomBytes } from 'node:crypto';
import { open, type FileHandle, readdir, realpath } from 'node:fs/promises';
import { Fault } from '@updraft/account/fault';
import { type Manifest, tagger } from '@updraft/pelican/transfer';
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { errorReason } from '@updraft/base';

/** Files that become one object, and the size of its tar. */
export interface Shard {
  index: number;
  files: DataFile[];
  samples: number;
  bytes: number;
}

/** A file that stays as it is. */
export const singleFile = (file: DataFile): Shard => ({
  index: 0,
  files: [file],
  samples: 1,
  bytes: file.bytes,
});

/** As readers count: WebDataset leaves out hidden files, and those without a dot. */
const isOfSample = ({ name }: DataFile): boolean => /(^|\/)[^./]+\.[^/]*$/.test(name);

/** Groups samples into shards of up to `maxBytes`; a sample is never split: a larger one is a shard of its own. */
export async function* planShards(samples: AsyncIterable<Sample>, maxBytes: number): AsyncGenerator<Shard> {
  let shard: Shard = { index: 0, files: [], samples: 0, bytes: tarEnd.length };
  for await (const sample of samples) {
    const bytes = sample.reduce((sum, file) => sum + entryBytes(file), 0);
    if (shard.files.length > 0 && shard.bytes + bytes > maxBytes) {
      yield shard;
      shard = { index: shard.index + 1, files: [], samples: 0, bytes: tarEnd.length };
    }
    shard.files.push(...sample);
    if (sample.some(isOfSample)) shard.samples += 1;
    shard.bytes += bytes;
  }
  if (shard.files.length > 0) yield shard;
}

/** Changes when any file is renamed, resized or modified. */
export function fingerprint(files: readonly DataFile[]): string {
  const hash = createHash('sha256');
  for (const { name, bytes, modifiedMs, isExecutable } of files)
    hash.update(`${name}\0${bytes}\0${modifiedMs}\0${isExecutable}\n`);
  return hash.digest('hex');
}

/**
 * Samples ordered by a hash of their names: unrelated to their folders, and the same on every machine. Holds all of
 * them in memory.
 */
export async function* shuffleSamples(samples: AsyncIterable<Sample>): AsyncGenerator<Sample> {
  const keyed: { key: string; sample: Sample }[] = [];
  for await (const sample of samples) {
    const key = createHash('sha256').update(sample[0]?.name ?? '');
    keyed.push({ key: key.digest('base64'), sample });
  }
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const { sample } of keyed) yield sample;
}

const blockSize = 512;
/** The same files make the same archive anywhere and at any time, so times and owners are fixed. */
const fixedTime = 315_532_800;
const maxOctal = 0o77777777777;

/** The header of a file in a tar: ustar, preceded by a pax header if ustar cannot express the name or size. */
function tarHeader({ name, bytes, isExecutable }: Pick<DataFile, 'name' | 'bytes' | 'isExecutable'>): Buffer {
  const type = isFolder({ name }) ? '5' : '0';
  const mode = isExecutable ? 0o755 : 0o644;
  const plain = Buffer.from(name).length <= 100 && /^[\x20-\x7e]*$/.test(name) && bytes <= maxOctal;
  if (plain) return ustar({ name, bytes, mode, type });
  const records = Buffer.from(
    paxRecord('path', name) + (bytes > maxOctal ? paxRecord('size', String(bytes)) : ''),
  );
  return Buffer.concat([
    ustar({ name: 'PaxHeader', bytes: records.length, mode: 0o644, type: 'x' }),
    records,
    padding(records.length),
    ustar({ name: shortName(name), bytes: Math.min(bytes, maxOctal), mode, type }),
  ]);
}

/** Zeros up to the next block. */
const padding = (bytes: number): Buffer => Buffer.alloc((blockSize - (bytes % blockSize)) % blockSize);

/** Two blocks of zeros end an archive. */
const tarEnd = Buffer.alloc(2 * blockSize);

/** Bytes a file takes in a tar. */
const entryBytes = (file: DataFile): number =>
  tarHeader(file).length + file.bytes + padding(file.bytes).length;

type Header = Record<'name' | 'type', string> & Record<'bytes' | 'mode', number>;

function ustar({ name, bytes, mode, type }: Header): Buffer {
  const header = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, width: number): void =>
    void header.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at, 'latin1');
  header.write(name, 0, 100, 'utf8');
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes, 124, 12);
  octal(fixedTime, 136, 12);
  header.write(' '.repeat(8), 148, 'latin1');
  header.write(type, 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** `LENGTH key=value\n`, where LENGTH counts itself too. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

/** For readers without pax: the end of the name, cut between characters. */
function shortName(name: string): string {
  let short = Array.from(name);
  while (Buffer.byteLength(short.join('')) > 100) short = short.slice(1);
  return short.join('');
}

interface Watch {
  signal: AbortSignal;
  onBytes: (bytes: number) => void;
}

const readBytes = 1 << 20;

/** Writes a shard as a tar into a file, and seals it. */
export async function writeShard(shard: Shard, target: string, watch: Watch): Promise<Seal> {
  const maker = new ManifestMaker(shard.bytes);
  await writeTar(shard, target, watch, maker);
  return maker.seal();
}

/** Writes a shard as a tar into a file; `digest` gets all its bytes. */
export async function writeTar(
  { files }: Shard,
  target: string,
  watch: Watch,
  digest: { update: (part: Buffer) => unknown },
): Promise<void> {
  await using output = await opened(target, 'w');
  const write = async (part: Buffer): Promise<void> => {
    digest.update(part);
    await output.writeFile(part).catch((error: unknown) => {
      throw writeFault(target, error);
    });
    watch.onBytes(part.length);
  };
  for (const file of files) {
    await write(tarHeader(file));
    if (!isFolder(file)) await readAll(file, watch.signal, write);
    await write(padding(file.bytes));
  }
  await write(tarEnd);
}

export async function sealFile(file: DataFile, watch: Watch): Promise<Seal> {
  const maker = new ManifestMaker(file.bytes);
  await readAll(file, watch.signal, (part) => {
    maker.update(part);
    watch.onBytes(part.length);
    return Promise.resolve();
  });
  return maker.seal();
}

/** Reads a file into one reused buffer; throws if it has changed since it was listed. */
async function readAll(
  { file, bytes, modifiedMs }: DataFile,
  signal: AbortSignal,
  take: (part: Buffer) => Promise<void>,
): Promise<void> {
  await using input = await opened(file, 'r');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(readBytes, bytes + 1)));
  let at = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await input.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    if (at > bytes) break;
    await take(buffer.subarray(0, bytesRead));
  }
  if (at !== bytes || (await input.stat()).mtimeMs !== modifiedMs)
    throw new Fault('file-invalid', `${file} changed while it was being packed`, {
      about: file,
      fix: 'run the command again when nothing writes to the data set',
    });
}

async function opened(file: string, flags: 'r' | 'w'): Promise<FileHandle> {
  try {
    return await open(file, flags);
  } catch (error) {
    if (flags === 'w') throw writeFault(file, error);
    throw new Fault('file-invalid', `${file} cannot be read: ${(error as Error).message}`, {
      about: file,
      cause: error,
    });
  }
}

function writeFault(file: string, error: unknown): Fault {
  const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
  return new Fault(isFull ? 'disk-full' : 'scratch-unusable', `${file}: ${(error as Error).message}`, {
    about: file,
    fix: 'set TMPDIR to a folder on a disk with space for one shard, or make shards smaller',
    cause: error,
  });
}

/** What is known about an object after all its bytes were read. */
export interface Seal {
  manifest: Manifest;
  /** Hex MD5, which origins can verify. */
  md5: string;
}

const mebibyte = 1 << 20;

/** Hashes an object and its chunks while its bytes pass. */
class ManifestMaker {
  readonly #chunkBytes: number;
  readonly #whole = createHash('sha256');
  readonly #md5 = createHash('md5');
  readonly #chunks: string[] = [];
  readonly #key = randomBytes(16).toString('hex');
  readonly #tags: string[] = [];
  #chunk = createHash('sha256');
  #tag = tagger(this.#key, 0);
  #inChunk = 0;
  #bytes = 0;

  /** `bytes` is the object's size: larger objects have larger chunks, so manifests stay small. */
  constructor(bytes: number) {
    this.#chunkBytes = chunkBytesFor(bytes);
  }

  update(bytes: Buffer): void {
    this.#whole.update(bytes);
    this.#md5.update(bytes);
    this.#bytes += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + this.#chunkBytes - this.#inChunk);
      this.#chunk.update(part);
      this.#tag.update(part);
      this.#inChunk += part.length;
      at += part.length;
      if (this.#inChunk === this.#chunkBytes) this.#endChunk();
    }
  }

  /** To be called once. */
  seal(): Seal {
    if (this.#inChunk > 0) this.#endChunk();
    const manifest: Manifest = {
      bytes: this.#bytes,
      chunkBytes: this.#chunkBytes,
      sha256: this.#whole.digest('hex'),
      chunks: this.#chunks,
      keyed: { key: this.#key, tags: this.#tags },
    };
    return { manifest, md5: this.#md5.digest('hex') };
  }

  #endChunk(): void {
    this.#chunks.push(this.#chunk.digest('hex'));
    this.#chunk = createHash('sha256');
    this.#tags.push(this.#tag.hex());
    this.#tag = tagger(this.#key, this.#tags.length);
    this.#inChunk = 0;
  }
}

/** 4, 8 or 16 MiB: a damaged chunk is cheap to fetch again, and 1024 hashes cover 4 to 16 GiB. */
function chunkBytesFor(bytes: number): number {
  if (bytes <= 4096 * mebibyte) return 4 * mebibyte;
  return bytes <= 8192 * mebibyte ? 8 * mebibyte : 16 * mebibyte;
}

/** One file of a data set, or an empty folder. */
interface DataFile {
  /** Path below the data set's folder, with `/`; that of a folder ends with one. */
  name: string;
  file: string;
  bytes: number;
  modifiedMs: number;
  isExecutable: boolean;
}

/** Files that belong together: in one folder with the same name up to the first dot, as in WebDataset. */
type Sample = DataFile[];

const isFolder = ({ name }: Pick<DataFile, 'name'>): boolean => name.endsWith('/');

/** How many files there are, as `expect` counts them. */
export const countFiles = (files: readonly DataFile[]): number =>
  files.filter((file) => !isFolder(file)).length;

/**
 * All files of a folder, sample by sample, in an order that depends only on their names; one folder in memory at a
 * time. A link to a file counts as that file, which must be in the real folder `within`.
 */
export async function* listSamples(folder: string, within: string, below = ''): AsyncGenerator<Sample> {
  const entries = await readFolder(folder);
  let sample: Sample = [];
  let sampleKey: string | undefined;
  for (const { name, isFolder, isLink } of entries) {
    const key = isFolder ? undefined : keyOf(name);
    if (sample.length > 0 && key !== sampleKey) {
      yield sample;
      sample = [];
    }
    sampleKey = key;
    const file = path.join(folder, name);
    if (isLink) await checkLink(file, within);
    if (isFolder) yield* listSamples(file, within, `${below}${name}/`);
    else sample.push(describeFile(file, `${below}${name}`));
  }
  if (sample.length > 0) yield sample;
  if (entries.length === 0 && below !== '')
    yield [{ name: below, file: folder, bytes: 0, modifiedMs: 0, isExecutable: true }];
}

interface FolderEntry {
  name: string;
  isFolder: boolean;
  isLink: boolean;
}

async function readFolder(folder: string): Promise<FolderEntry[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadable(folder, error);
  });
  // Files sort before a folder of the same key, so a sample is never split.
  const sortKey = ({ name, isFolder }: FolderEntry): string =>
    `${isFolder ? name : keyOf(name)}\0${isFolder ? '1' : '0'}\0${name}`;
  return entries
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory(), isLink: entry.isSymbolicLink() }))
    .map((entry) => ({ entry, key: sortKey(entry) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ entry }) => entry);
}

/** Whoever reads the data must not get a file that its owner never put there. */
async function checkLink(file: string, within: string): Promise<void> {
  const target = await realpath(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (!target.startsWith(`${within}/`))
    throw new Fault('file-invalid', `${file} is a link to ${target}, outside the folder`, {
      about: file,
      fix: 'put the file itself there (`cp -rL` copies what links lead to), or remove the link',
    });
}

/** A link to a file counts as that file. Synchronous calls take a fifth of the time in a folder of many files. */
export function describeFile(file: string, name: string): DataFile {
  const info = readableStats(file);
  if (!info.isFile())
    throw new Fault(
      'file-invalid',
      `${file} is ${info.isDirectory() ? 'a link to a folder' : 'not a regular file'}`,
      { about: file, fix: 'remove it from the data set, or put the files themselves there' },
    );
  const isExecutable = (info.mode & 0o100) !== 0;
  return { name, file, bytes: info.size, modifiedMs: info.mtimeMs, isExecutable };
}

function readableStats(file: string): Stats {
  try {
    const info = statSync(file);
    if ((info.mode & 0o004) === 0) accessSync(file, constants.R_OK);
    return info;
  } catch (error) {
    throw unreadable(file, error);
  }
}

const keyOf = (name: string): string => name.split('.', 1)[0] ?? '';

/** What Node puts into a name for bytes that are not UTF-8. */
const foreign = '\ufffd';

function unreadable(file: string, error: unknown): Fault {
  const why = file.includes(foreign) ? 'its name is not UTF-8' : errorReason(error);
  return new Fault('file-invalid', `${file} cannot be read: ${why}`, {
    about: file,
    cause: error,
    fix: file.includes(foreign) ? 'rename it' : 'make it readable, or remove it from the data set',
  });
}
