import type { Order } from '../job/job.ts';
import type { Chirp } from './chirp.ts';
import { ChirpNotes } from './chirp-notes.ts';
import { FolderNotes } from './folder-notes.ts';
import type { SharedNotes } from './shared-notes.ts';

/** The way from here to the run's notes: the sandbox's line to the access point, or the folder that the order names. */
export function openSharedNotes({ notesFolder }: Order, chirp: Chirp | undefined): SharedNotes {
  if (chirp !== undefined) return new ChirpNotes(chirp);
  return notesFolder === undefined ? noNotes : new FolderNotes(notesFolder);
}

const noNotes: SharedNotes = {
  put: () => Promise.resolve(false),
  list: () => Promise.resolve([]),
  read: () => Promise.resolve(undefined),
};
