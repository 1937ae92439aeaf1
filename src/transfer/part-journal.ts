import fs from 'node:fs';
import type { Identity } from './check-answer.ts';
import { onDisk } from './part-file.ts';
import type { Range } from './segments.ts';

/** What `target.part` holds: which object, which version, which ranges. */
export interface PartJournal {
  url: string;
  identity: Identity;
  done: Range[];
}

export function journalPath(target: string): string {
  return `${target}.part.json`;
}

/** Reads the journal of an earlier attempt; one that cannot be understood counts as none. */
export function readJournal(target: string): PartJournal | undefined {
  try {
    const value = JSON.parse(fs.readFileSync(journalPath(target), 'utf8')) as PartJournal;
    return isJournal(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the journal in one step, so that a reader never sees half of it. */
export function writeJournal(target: string, { url, identity, done }: PartJournal): void {
  const file = journalPath(target);
  onDisk(file, () => {
    fs.writeFileSync(`${file}.new`, JSON.stringify({ url, identity, done }));
    fs.renameSync(`${file}.new`, file);
  });
}

function isJournal({ url, identity, done }: Partial<PartJournal>): boolean {
  if (typeof url !== 'string' || typeof identity !== 'object' || !Array.isArray(done)) return false;
  const { size, etag, lastModified } = identity;
  let last = 0;
  for (const { start, end } of done) {
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < last || end < start)
      return false;
    last = end;
  }
  return isSize(size) && last <= size && isText(etag) && isText(lastModified);
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
