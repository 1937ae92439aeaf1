import type { ByteSink } from './entry.ts';
import { defaultUnpackLimits } from './limits.ts';
import { decompressors } from './open-reader.ts';

/**
 * The decompressed bytes of a file that is compressed as an archive of this kind is; `name` names it in messages. Of a
 * damaged file, what is before the damage comes before the fault.
 */
export async function* decompress(
  kind: keyof typeof decompressors,
  name: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  const done: Buffer[] = [];
  const next: ByteSink = {
    write: (piece) => void done.push(piece),
    end: () => undefined,
    destroy: () => undefined,
  };
  const input = decompressors[kind](name, next, defaultUnpackLimits);
  try {
    for await (const piece of pieces) {
      await input.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      yield* done.splice(0);
    }
    await input.end();
    yield* done.splice(0);
  } catch (error) {
    yield* done.splice(0);
    throw error;
  } finally {
    input.destroy();
  }
}
