import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { Fault } from '../fault/fault.ts';
import { type DataFile, isFolder, type Sample } from './data-files.ts';
import { ManifestMaker, type Seal } from './manifest-maker.ts';

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

/** Groups samples into shards of up to `maxBytes`; a sample is never split, so a larger one becomes a shard of its own. */
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
