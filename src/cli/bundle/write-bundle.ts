import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, open, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { removeTree } from '@updraft/base/disk';
import { Fault } from '../../fault/fault.ts';
import { describeFolder } from '../../stage/folder.ts';
import { writeShard } from '../../stage/shards.ts';
import { cannotWrite } from '../write-named.ts';

/** Packs texts into a new archive that only the user can read; returns its size. */
export async function writeBundle(
  target: string,
  texts: AsyncIterable<{ name: string; text: string }>,
  signal: AbortSignal,
): Promise<number> {
  await create(target);
  const scratch = await mkdtemp(path.join(await realpath(tmpdir()), 'updraft-bundle-'));
  try {
    const folder = path.join(scratch, 'files');
    for await (const { name, text } of texts) {
      const file = path.join(folder, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text, { mode: 0o600 });
    }
    const { shard } = await describeFolder(folder);
    const tar = path.join(scratch, 'bundle.tar');
    await writeShard(shard, tar, { signal, onBytes: () => undefined });
    await pipeline(createReadStream(tar), createGzip(), createWriteStream(target), { signal });
    return (await stat(target)).size;
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    await removeTree(scratch);
  }
}

/** Nothing is overwritten, and nobody else can read it, not even while it is written. */
async function create(target: string): Promise<void> {
  try {
    await using archive = await open(target, 'wx', 0o600);
    await archive.chmod(0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw cannotWrite(target, error, 'name a file in a folder that you can write to: --output FILE');
    throw new Fault('usage', `${target} exists already`, {
      about: target,
      cause: error,
      fix: 'move it away, or name another file with --output',
    });
  }
}
