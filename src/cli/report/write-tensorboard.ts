import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorReason } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import { jobLabel } from '../../job/describe-parameters.ts';
import type { JobState } from '../../journal/state.ts';
import { readProgress, stitchCurve } from '../../journal/training-curve.ts';
import { eventFile } from './event-file.ts';

/**
 * Writes the curves of jobs for TensorBoard: a folder per job, named by its parameters. Written again, they replace the
 * earlier ones. Returns how many jobs have curves.
 */
export async function writeTensorboard(
  runFolder: string,
  jobs: readonly JobState[],
  target: string,
): Promise<number> {
  let written = 0;
  for (const job of jobs) {
    const points = stitchCurve(await readProgress(runFolder, job));
    const [first] = points;
    if (first === undefined) continue;
    const events = points.map(({ at, step, metrics }) => ({ time: at / 1000, step, values: metrics }));
    const seconds = String(Math.floor(first.at / 1000)).padStart(10, '0');
    const folder = path.join(target, folderName(job));
    await writeWhole(path.join(folder, `events.out.tfevents.${seconds}.updraft`), eventFile(events));
    written += 1;
  }
  return written;
}

/** TensorBoard shows the folder's name: `0003 lr=0.1 seed=2`. */
const folderName = ({ id, parameters }: JobState): string =>
  jobLabel(id, parameters)
    .replaceAll(/[^\p{L}\p{N} ._=+-]/gu, '_')
    .slice(0, 120);

async function writeWhole(file: string, content: Buffer): Promise<void> {
  const draft = path.join(path.dirname(file), '.updraft.draft');
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(draft, content);
    await rename(draft, file);
  } catch (error) {
    throw new Fault('file-invalid', `${file} cannot be written: ${errorReason(error)}`, {
      about: file,
      fix: 'name a folder that you can write to',
      cause: error,
    });
  }
}
