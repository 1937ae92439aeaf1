import type { Identity } from '../engine/check-answer.ts';
import type { PartFile } from './part-file.ts';
import { readJournal } from './part-journal.ts';
import type { Range } from '../engine/segments.ts';
import type { Settings } from '../settings.ts';
import { provenRanges } from '../proof/verify.ts';

/** What an earlier attempt brought, and of which version. */
export interface EarlierPart {
  identity: Identity;
  done: Range[];
}

/** An earlier attempt's bytes, if they can be told to be of the same object; otherwise the file begins anew. */
export async function earlierPart(
  target: string,
  file: PartFile,
  { manifest, sha256, size, shownUrl, signal }: Settings,
): Promise<EarlierPart | undefined> {
  const journal = readJournal(target);
  const identity = journal?.identity;
  const recognizable = identity?.etag ?? identity?.lastModified ?? manifest ?? sha256;
  const sameSize = size === undefined || size === identity?.size;
  if (journal?.url !== shownUrl || identity === undefined || recognizable === undefined || !sameSize) {
    file.startOver();
    return undefined;
  }
  const there = journal.done.filter(({ end }) => end <= file.size);
  if (manifest === undefined) return { identity, done: leaveLastByte(there, identity.size) };
  const proven = await provenRanges(manifest, file, there, signal);
  return { identity: { ...identity, etag: undefined }, done: leaveLastByte(proven, identity.size) };
}

/** Of a part that has all bytes the last one is asked for again, so that a server confirms the object. */
function leaveLastByte(done: Range[], size: number | undefined): Range[] {
  const [first] = done;
  if (first === undefined || done.length > 1 || first.start > 0 || first.end !== size) return done;
  return [{ start: 0, end: size - 1 }];
}
