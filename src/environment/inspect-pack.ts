import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Fault } from '../fault/fault.ts';
import type { LockedPackage } from './locked-package.ts';
import { PackInspector } from './pack-inspector.ts';
import { brokenPack, type PackMetadata } from './pack-metadata.ts';
import { PackSplitter } from './pack-splitter.ts';

/** An archive of pixi-pack that was read through and found whole. */
export interface InspectedPack {
  metadata: PackMetadata;
  /** Its packages, as its indexes and the names of its wheels tell; their URLs are the names of their files. */
  packages: LockedPackage[];
  form: 'executable' | 'tar';
  bytes: number;
  sha256: string;
}

/** Reads an archive of this machine as the agent will, and says all it can; throws where the agent would refuse it. */
export async function inspectPack(file: string, signal?: AbortSignal): Promise<InspectedPack> {
  const inspector = new PackInspector(file);
  const splitter = new PackSplitter(file, {
    tar: (piece) => inspector.write(piece),
    program: () => undefined,
  });
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of createReadStream(file, { highWaterMark: 1 << 20, ...(signal && { signal }) })) {
      const chunk = piece as Buffer;
      bytes += chunk.length;
      hash.update(chunk);
      await splitter.write(chunk);
    }
    splitter.end();
    const form = splitter.program === undefined ? 'tar' : 'executable';
    return { ...inspector.finish(), form, bytes, sha256: hash.digest('hex') };
  } catch (thrown) {
    if (thrown instanceof Fault)
      throw ['archive-damaged', 'archive-unsafe'].includes(thrown.kind)
        ? brokenPack(file, thrown.message)
        : thrown;
    signal?.throwIfAborted();
    throw new Fault('file-invalid', `${file} cannot be read: ${(thrown as Error).message}`, { about: file });
  }
}
