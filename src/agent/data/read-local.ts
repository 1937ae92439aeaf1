import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import os from 'node:os';
import { isGone } from '@updraft/base';
import { piecesOf } from '@updraft/base/disk';
import { Fault } from '../../fault/fault.ts';
import type { Fetched, FetchOptions } from '@updraft/pelican/transfer';

/** Reads a local file as if it were fetched: in order, interruptible, with the same checks. */
export async function readLocal(
  file: string,
  write: (chunk: Buffer) => void | Promise<void>,
  options: FetchOptions & { clock: NonNullable<FetchOptions['clock']> },
): Promise<Fetched> {
  const { clock, signal, manifest } = options;
  const sha256 = options.sha256 ?? manifest?.sha256;
  const expected = options.bytes ?? manifest?.bytes;
  const started = clock.monotonic();
  await using input = await openLocal(file);
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of piecesOf(input, signal)) {
    bytes += piece.length;
    if (sha256 !== undefined) hash.update(piece);
    await write(piece);
  }
  if (expected !== undefined && bytes !== expected)
    throw new Fault('data-unexpected', `${file} has ${bytes} bytes, not ${expected}`, { about: file });
  const found = hash.digest('hex');
  if (sha256 !== undefined && found !== sha256.toLowerCase())
    throw new Fault('data-corrupt', `${file}: SHA-256 is ${found}, should be ${sha256}`, { about: file });
  const seconds = (clock.monotonic() - started) / 1000;
  const verified = sha256 === undefined ? 'size' : 'digest';
  return { bytes, seconds, verified, servers: [{ server: os.hostname(), bytes }] };
}

async function openLocal(file: string): ReturnType<typeof open> {
  try {
    return await open(file, 'r');
  } catch (error) {
    const what = isGone(error) ? 'does not exist' : `cannot be read: ${(error as Error).message}`;
    throw new Fault('object-missing', `the file ${file} ${what}`, {
      fix: 'use a file that exists on the worker: file: URLs are read there',
      about: file,
      cause: error,
    });
  }
}
