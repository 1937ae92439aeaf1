import path from 'node:path';
import { formatDuration } from '../../job/units.ts';
import type { Order } from '../../job/job.ts';
import type { Note } from '../notes/notes.ts';
import { openSharedNotes } from '../notes/shared-notes.ts';
import { makeScratch } from '../scratch.ts';
import type { World } from '../attempt.ts';
import { setUpEnvironment } from './set-up-environment.ts';

/** Brings up the software of an order for somebody who works by hand, and leaves it; answers the script that activates it. */
export async function openSoftware(
  order: Order,
  world: World,
  talk: (line: string) => void,
): Promise<string> {
  const scratch = makeScratch(order);
  const note: Note = (body) => {
    if (body.kind === 'phase') talk(`${body.phase} the software`);
    if (body.kind === 'environment-ready')
      talk(`the software is ready after ${formatDuration(Math.ceil(body.seconds))}`);
  };
  // In an interactive job the files of the training lie in its folder itself.
  const byHand = { ...order, filesFrom: world.cwd };
  await setUpEnvironment({ order: byHand, scratch, world, note, shared: openSharedNotes(order, undefined) });
  return path.join(scratch.root, 'software', 'activate.sh');
}
