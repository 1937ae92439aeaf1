import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { type Manifest, tagger } from '@updraft/pelican/transfer';

const chunkBytes = 4 << 20;
const key = '00112233445566778899aabbccddeeff';

/** The hashes of a file and of its chunks. */
export function manifestOf(file: string): Manifest {
  const whole = createHash('sha256');
  const chunks: string[] = [];
  const tags: string[] = [];
  const chunk = Buffer.allocUnsafe(chunkBytes);
  const fd = openSync(file, 'r');
  for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk)) {
    const bytes = chunk.subarray(0, read);
    whole.update(bytes);
    chunks.push(createHash('sha256').update(bytes).digest('hex'));
    const tag = tagger(key, tags.length);
    tag.update(bytes);
    tags.push(tag.hex());
  }
  closeSync(fd);
  return {
    bytes: statSync(file).size,
    chunkBytes,
    sha256: whole.digest('hex'),
    chunks,
    keyed: { key, tags },
  };
}
