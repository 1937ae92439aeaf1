import { Fault } from './fault.ts';
import type { MaybePromise } from './entry.ts';
import type { Unpacked, Unpacker } from './open-unpacker.ts';

/**
 * Unpacks what `fetch` delivers. An archive that is damaged although its bytes are verified was published that way: no
 * other server or machine has a better copy. To find out, the rest is fetched if a digest is known; `fetch` calls its
 * second argument when a server states one. After a failure nothing of the archive is left.
 */
export async function unpackFetched<Fetched extends { verified: string }>(
  unpacker: Unpacker,
  { manifest, sha256 }: { manifest?: unknown; sha256?: string },
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
  let verified = '';
  try {
    const fetched = await fetch(write, () => (hasDigest = true));
    ({ verified } = fetched);
    if (damage !== undefined) throw damage;
    return { fetched, unpacked: await unpacker.finish() };
  } catch (error) {
    await unpacker.abort();
    const isProven = verified === 'manifest' || verified === 'digest';
    throw isProven && isDamage(error) ? publishedDamaged(error) : error;
  }
}

function isDamage(error: unknown): error is Fault {
  return error instanceof Fault && error.kind === 'archive-damaged';
}

function publishedDamaged(damage: Fault): Fault {
  return new Fault('archive-kind', `${damage.message}; its digest is correct, so it was published damaged`, {
    fix: 'rebuild the archive and publish it again',
    cause: damage,
    ...(damage.about !== undefined && { about: damage.about }),
  });
}
