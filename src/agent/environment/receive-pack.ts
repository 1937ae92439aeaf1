import { chmod, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { brokenPack, wrongPack, type PackMetadata } from '../../environment/pack-metadata.ts';
import { PackInspector } from '../../environment/pack-inspector.ts';
import { PackSplitter } from '../../environment/pack-splitter.ts';
import { Fault } from '../../fault/fault.ts';
import type { OrderedData } from '../../job/job.ts';
import type { Attempt } from '../attempt.ts';
import { fetchBytes, isProven } from '../stage-data.ts';

/** An archive of pixi-pack that is whole, and how it is unpacked. */
export interface ReceivedPack {
  tar: string;
  bytes: number;
  metadata: PackMetadata;
  /** The program and its first words; undefined where the archive brought none. */
  unpacker: [string, ...string[]] | undefined;
}

/** Brings the archive into a folder, taken apart and looked through as it arrives; nothing of it has run yet. */
export async function receivePack(
  pack: OrderedData,
  name: string,
  folder: string,
  attempt: Attempt,
): Promise<ReceivedPack> {
  const tar = path.join(folder, 'environment.tar');
  const program = path.join(folder, 'pixi-unpack');
  const inspector = new PackInspector(name);
  await using tarFile = await open(tar, 'wx', 0o600);
  await using programFile = await open(program, 'wx', 0o600);
  const splitter = new PackSplitter(name, {
    async tar(piece) {
      await inspector.write(piece);
      await tarFile.writeFile(piece);
    },
    program: (piece) => programFile.writeFile(piece),
  });
  let asPublished = false;
  try {
    asPublished = isProven(await fetchBytes(pack, (chunk) => splitter.write(chunk), attempt));
    splitter.end();
    const { metadata } = inspector.finish();
    await chmod(program, 0o700);
    const brought = splitter.program;
    const unpacker: ReceivedPack['unpacker'] = brought && [program, ...brought.subcommand];
    return { tar, bytes: (await stat(tar)).size, metadata, unpacker };
  } catch (thrown) {
    throw asBroken(thrown, name, asPublished);
  }
}

/** What a reader of archives found wrong is, here, software that cannot be used; nowhere, if it was published so. */
function asBroken(thrown: unknown, name: string, asPublished: boolean): unknown {
  if (!(thrown instanceof Fault)) return thrown;
  if (thrown.kind === 'archive-damaged')
    return asPublished ? wrongPack(name, thrown.message) : brokenPack(name, thrown.message);
  if (thrown.kind !== 'environment-broken' || !asPublished) return thrown;
  const { message, fix } = thrown;
  return new Fault('archive-kind', message, { about: name, ...(fix === undefined ? {} : { fix }) });
}
