import fs from 'node:fs';
import { type Clock, defined, fileUser, isPrivate, tried } from '@updraft/base';
import type { Identity } from '../engine/check-response.ts';
import type { Range } from '../engine/segments.ts';
import type { Settings } from '../fetch.ts';
import type { Algorithm } from '../proof/digest.ts';
import { verifiedRanges } from '../proof/verify.ts';
import { withDiskFaults, partPath, type PartFile } from './part-file.ts';

/** What `target.updraft-part` contains: which object, which version, which ranges. */
export interface PartJournal {
  url: string;
  identity: Identity;
  /** The digest of the whole according to the first server. */
  digest?: { algorithm: Algorithm; hex: string };
  /** Ranges that were written. */
  done: Range[];
}

interface StoredJournal extends PartJournal {
  /** Ranges known to be on the physical disk, not only in the page cache. */
  flushed: Range[];
  /** The part that it describes: another process may have put its own in place. */
  inode: number;
  /** The kernel's boot ID when this was written, if known. */
  boot: string | undefined;
}

function journalPath(target: string): string {
  return `${partPath(target)}.json`;
}

/**
 * Reads the journal of an earlier attempt; one that cannot be parsed is ignored. Bytes that were written but not
 * flushed are lost in a crash, so they count only if the machine has not rebooted.
 */
function readJournal(target: string, { inode }: PartFile): PartJournal | undefined {
  try {
    const info = fs.lstatSync(journalPath(target));
    if (!info.isFile() || !isPrivate(info, fileUser() ?? info.uid)) return undefined;
    const value = JSON.parse(fs.readFileSync(journalPath(target), 'utf8')) as Partial<StoredJournal>;
    if (!isJournal(value) || value.inode !== inode) return undefined;
    const { url, identity, digest, boot, done, flushed } = value;
    return {
      url,
      identity,
      ...defined({ digest }),
      done: boot !== undefined && boot === bootId() ? done : flushed,
    };
  } catch {
    return undefined;
  }
}

/** Replaces the journal in one step, so that a reader never sees half of it. */
function writeJournal(target: string, part: PartJournal, flushed: Range[], { inode }: PartFile): void {
  const file = journalPath(target);
  const journal: StoredJournal = { ...part, flushed, inode, boot: bootId() };
  withDiskFaults(file, () => {
    // In a shared folder, neither follow another user's link nor reuse another user's file.
    fs.rmSync(`${file}.new`, { force: true });
    fs.writeFileSync(`${file}.new`, JSON.stringify(journal), { flag: 'wx' });
    fs.renameSync(`${file}.new`, file);
  });
}

const bootId = (): string | undefined =>
  tried(() => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());

function isJournal(value: Partial<StoredJournal>): value is StoredJournal {
  const { url, identity, done, flushed } = value;
  if (typeof url !== 'string' || typeof identity !== 'object') return false;
  const { size, etag, weak, modified } = identity;
  const isTime = modified === undefined || Number.isFinite(modified);
  const areTags = isText(etag) && isText(weak);
  return isSize(size) && areTags && isTime && areRanges(done, size) && areRanges(flushed, size);
}

function areRanges(value: unknown, size: number): boolean {
  if (!Array.isArray(value)) return false;
  let last = 0;
  for (const { start, end } of value as Range[]) {
    if (!isSize(start) || !isSize(end) || start < last || end < start) return false;
    last = end;
  }
  return last <= size;
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** What an earlier attempt fetched, and of which version. */
export interface EarlierPart {
  identity: Identity;
  digest?: PartJournal['digest'] | undefined;
  done: Range[];
}

/** An earlier attempt's bytes, if they can be shown to be of the same object; otherwise the file starts fresh. */
export async function earlierPart(
  target: string,
  file: PartFile,
  { manifest, sha256, size, shownUrl, signal }: Settings,
): Promise<EarlierPart | undefined> {
  const journal = file.isOwn ? readJournal(target, file) : undefined;
  const identity = journal?.identity;
  const recognizable = identity?.etag ?? identity?.modified ?? manifest ?? sha256;
  const sameSize = size === undefined || size === identity?.size;
  if (journal?.url !== shownUrl || identity === undefined || recognizable === undefined || !sameSize) {
    file.restart();
    return undefined;
  }
  const there = journal.done.filter(({ end }) => end <= file.size);
  const { digest } = journal;
  if (manifest === undefined) return { identity, digest, done: withoutLastByte(there, identity.size) };
  const proven = await verifiedRanges(manifest, file, there, signal);
  const bare = { size: identity.size, etag: undefined, modified: undefined };
  return { identity: bare, done: withoutLastByte(proven, identity.size) };
}

/** If the part has all bytes, the last one is requested again, so that a server confirms the object. */
function withoutLastByte(done: Range[], size: number | undefined): Range[] {
  const [first] = done;
  if (first === undefined || done.length > 1 || first.start > 0 || first.end !== size) return done;
  return [{ start: 0, end: size - 1 }];
}

/** A killed process loses at most this. */
const writeMs = 1_000;
/** A machine that crashes loses at most this; flushing more often would slow down the disk. */
const flushMs = 10_000;

/** Keeps the journal of a part up to date while the part grows, and closes the part. */
export class PartJournalWriter {
  readonly #target: string;
  readonly #file: PartFile;
  readonly #clock: Clock;
  /** The current state, if it is worth keeping. */
  readonly #current: () => PartJournal | undefined;
  #flushed: Range[];
  #flushing: Promise<void> | undefined;
  #writeAt: number;
  #flushAt: number;

  constructor(
    target: string,
    file: PartFile,
    clock: Clock,
    flushed: Range[],
    current: () => PartJournal | undefined,
  ) {
    this.#target = target;
    this.#file = file;
    this.#clock = clock;
    this.#flushed = flushed;
    this.#current = current;
    this.#writeAt = clock.monotonic() + writeMs;
    this.#flushAt = clock.monotonic() + flushMs;
  }

  /** Called while bytes arrive; writes and flushes now and then. */
  tick(): void {
    const now = this.#clock.monotonic();
    if (now < this.#writeAt) return;
    this.#writeAt = now + writeMs;
    const journal = this.#current();
    if (journal === undefined) return;
    this.#file.assertInPlace();
    writeJournal(this.#target, journal, this.#flushed, this.#file);
    if (now < this.#flushAt || this.#flushing !== undefined) return;
    this.#flushAt = now + flushMs;
    this.#flushing = this.#file
      .flush()
      .then(
        () => void (this.#flushed = journal.done),
        () => undefined,
      )
      .finally(() => (this.#flushing = undefined));
  }

  /** Keeps part and journal for a later attempt, or removes both if nothing is worth keeping. */
  suspend(): void {
    if (!this.#file.isInPlace) return;
    const journal = this.#current();
    try {
      if (journal !== undefined) {
        writeJournal(this.#target, journal, this.#flushed, this.#file);
        return;
      }
    } catch {
      // On a full disk the journal may not fit either; without it the part is useless.
    }
    this.#file.remove();
  }

  /** Removes the journal of a part that is complete. */
  remove(): void {
    fs.rmSync(journalPath(this.#target), { force: true });
  }

  /** Closes the part, after any flush in progress. */
  close(): void {
    if (this.#flushing === undefined) this.#file.close();
    else void this.#flushing.finally(() => this.#file.close());
  }
}
