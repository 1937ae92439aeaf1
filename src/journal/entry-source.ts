import type { Entry } from './entry.ts';
import type { AccountTrouble } from './state.ts';

/** Entries of a run that stand in none of its journals, such as those a scheduler's log tells. */
export interface EntrySource {
  /** Files whose change tells of news. */
  readonly paths: readonly string[];
  read(): Promise<News>;
}

/** What a source has to tell since it was last read. */
export interface News {
  /** Of the access point, and what agents said on another way than their journals, which count more. */
  entries: Entry[];
  garbled: number;
  /** What is wrong with the source itself, as long as it is. */
  trouble?: AccountTrouble | undefined;
}
