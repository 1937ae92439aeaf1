import fs from 'node:fs';
import type { Identity } from '../engine/check-answer.ts';
import { onDisk, partPath } from './part-file.ts';
import type { Range } from '../engine/segments.ts';

/** What `target.part` holds: which object, which version, which ranges. */
export interface PartJournal {
  url: string;
  identity: Identity;
  /** Ranges that were written. */
  done: Range[];
}

/** As it is on disk. */
interface StoredJournal extends PartJournal {
  /** Ranges known to be on the disk itself, not only in the machine's memory. */
  flushed: Range[];
  /** The machine's run from boot to shutdown in which this was written, where that is known. */
  boot: string | undefined;
}

export function journalPath(target: string): string {
  return `${partPath(target)}.json`;
}

/**
 * Reads the journal of an earlier attempt; one that cannot be understood counts as none. What was written but
 * not flushed is lost with the machine's memory, so that it counts only on a machine that kept running.
 */
export function readJournal(target: string): PartJournal | undefined {
  try {
    const value = JSON.parse(fs.readFileSync(journalPath(target), 'utf8')) as Partial<StoredJournal>;
    if (!isJournal(value)) return undefined;
    const { url, identity, boot, done, flushed } = value;
    return { url, identity, done: boot !== undefined && boot === bootId() ? done : flushed };
  } catch {
    return undefined;
  }
}

/** Replaces the journal in one step, so that a reader never sees half of it. */
export function writeJournal(target: string, { url, identity, done }: PartJournal, flushed: Range[]): void {
  const file = journalPath(target);
  const journal: StoredJournal = { url, identity, done, flushed, boot: bootId() };
  onDisk(file, () => {
    fs.writeFileSync(`${file}.new`, JSON.stringify(journal));
    fs.renameSync(`${file}.new`, file);
  });
}

function bootId(): string | undefined {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

function isJournal(value: Partial<StoredJournal>): value is StoredJournal {
  const { url, identity, done, flushed } = value;
  if (typeof url !== 'string' || typeof identity !== 'object') return false;
  const { size, etag, lastModified } = identity;
  return (
    isSize(size) && isText(etag) && isText(lastModified) && areRanges(done, size) && areRanges(flushed, size)
  );
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
