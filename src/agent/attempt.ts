import type { Order } from '../job/job.ts';
import type { Note } from './notes/notes.ts';
import type { Scratch } from './scratch.ts';
import type { SharedNotes } from './notes/shared-notes.ts';
import type { World } from './world.ts';

/** One try at a job, as every phase sees it. */
export interface Attempt {
  order: Order;
  scratch: Scratch;
  world: World;
  note: Note;
  /** What the attempts of the run tell each other. */
  shared: SharedNotes;
}
