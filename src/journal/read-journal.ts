import { decode } from './codec.ts';
import type { Entry } from './entry.ts';
import { JournalTail } from './tail.ts';

/** A journal as it is now. */
export interface JournalContent {
  entries: Entry[];
  /** Lines that are no entry we understand, a torn last line among them. */
  garbled: number;
  /** When it last changed, by its file system's clock, in milliseconds. */
  changedAt?: number;
}

/** Reads a whole journal; one that is not there is empty. */
export async function readJournal(path: string): Promise<JournalContent> {
  const tail = new JournalTail(path);
  const { entries, garbled } = await tail.read();
  const changed = tail.changedAt === undefined ? {} : { changedAt: tail.changedAt };
  if (tail.unfinished === undefined) return { entries, garbled, ...changed };
  const last = decode(tail.unfinished);
  if (typeof last === 'string') return { entries, garbled: garbled + 1, ...changed };
  return { entries: [...entries, last], garbled, ...changed };
}
