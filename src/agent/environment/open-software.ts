import path from 'node:path';
import { formatDuration } from '@updraft/base';
import type { WorkOrder } from '../../job/job.ts';
import type { Recorder } from '../notes/journal-writer.ts';
import { openSharedNotes } from '../notes/shared-notes.ts';
import { makeScratch } from '../scratch.ts';
import type { Context } from '../attempt.ts';
import { setUpEnvironment } from './set-up-environment.ts';

/** Sets up an order's software for an interactive job; returns the script that activates it. */
export async function openSoftware(
  order: WorkOrder,
  context: Context,
  print: (line: string) => void,
): Promise<string> {
  const scratch = makeScratch(order);
  const record: Recorder = (body) => {
    if (body.kind === 'phase') print(`${body.phase} the software`);
    if (body.kind === 'environment-ready')
      print(`the software is ready after ${formatDuration(Math.ceil(body.seconds))}`);
  };
  // In an interactive job the training's files are in the job's own folder.
  const byHand = { ...order, filesFrom: context.cwd };
  await setUpEnvironment({
    order: byHand,
    scratch,
    context,
    record,
    shared: openSharedNotes(order, undefined),
  });
  return path.join(scratch.root, 'software', 'activate.sh');
}
