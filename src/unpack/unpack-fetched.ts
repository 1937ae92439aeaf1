import { Fault } from '../fault/fault.ts';
import type { MaybePromise } from './entry.ts';
import type { Unpacked, Unpacker } from './open-unpacker.ts';

/** What the bytes of an object are held against: in chunks as they come, or as a whole at the end. */
interface ExpectedDigests {
  manifest?: unknown;
  sha256?: string;
}

/**
 * Unpacks what `fetch` brings. An archive that is damaged although its bytes are those that were published was
 * published so: no other server and no other machine has a better one. To know it, the rest is read where a digest of
 * the whole is known; `fetch` says so by its second argument.
 */
export async function unpackFetched<Fetched extends { verified: string }>(
  unpacker: Unpacker,
  { manifest, sha256 }: ExpectedDigests,
  fetch: (write: (chunk: Buffer) => MaybePromise, onDigest: () => void) => Promise<Fetched>,
): Promise<{ fetched: Fetched; unpacked: Unpacked }> {
  let hasDigest = sha256 !== undefined;
  let damage: Fault | undefined;
  const keep = (error: unknown): void => {
    if (!isDamage(error)) throw error;
    if (manifest !== undefined) throw publishedDamaged(error);
    if (!hasDigest) throw error;
    damage = error;
  };
  const write = (chunk: Buffer): MaybePromise => {
    if (damage !== undefined) return;
    try {
      return unpacker.write(chunk)?.catch(keep);
    } catch (error) {
      keep(error);
    }
  };
  const fetched = await fetch(write, () => (hasDigest = true));
  try {
    if (damage !== undefined) throw damage;
    return { fetched, unpacked: await unpacker.finish() };
  } catch (error) {
    const isProven = fetched.verified === 'manifest' || fetched.verified === 'digest';
    throw isProven && isDamage(error) ? publishedDamaged(error) : error;
  }
}

function isDamage(error: unknown): error is Fault {
  return error instanceof Fault && error.kind === 'archive-damaged';
}

function publishedDamaged(damage: Fault): Fault {
  return new Fault('archive-kind', `${damage.message}; its digest is right, so it was published damaged`, {
    fix: 'Make the archive again and publish it.',
    cause: damage,
    ...(damage.about !== undefined && { about: damage.about }),
  });
}
