import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorReason } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import { jobLabel } from '../../job/describe-parameters.ts';
import { agentJournals } from '../../journal/load-run.ts';
import type { JobState } from '../../journal/state.ts';
import { CurveStitcher, eachProgress } from '../../journal/training-curve.ts';
import { readParameters } from '../../run/run-states.ts';
import { EventFile } from './event-file.ts';

/**
 * Writes the curves of a run's jobs for TensorBoard: a folder per job, named by its parameters. Written again, they
 * replace the earlier ones. Returns how many jobs have curves.
 */
export async function writeTensorboard(runFolder: string, target: string): Promise<number> {
  const parameters = await readParameters(runFolder);
  let written = 0;
  for (const [job, journals] of Map.groupBy(await agentJournals(runFolder), (one) => one.job)) {
    const curve = await readCurve(journals.toSorted((a, b) => a.attempt - b.attempt));
    if (curve === undefined) continue;
    const seconds = String(Math.floor(curve.startedAt / 1000)).padStart(10, '0');
    const folder = path.join(target, folderName(job, parameters.get(job)));
    await writeWhole(path.join(folder, `events.out.tfevents.${seconds}.updraft`), curve.content);
    written += 1;
  }
  return written;
}

/** The attempts as one curve: one that resumes replaces what an earlier one did past its checkpoint. */
async function readCurve(journals: readonly { path: string }[]): Promise<EventFile | undefined> {
  const stitcher = new CurveStitcher();
  let curve: EventFile | undefined;
  for (const journal of journals)
    await eachProgress(journal.path, (entry) => {
      const { point, isFirst } = stitcher.take(entry) ?? {};
      if (point === undefined) return;
      curve ??= new EventFile(point.at);
      if (isFirst) curve.cutFrom(point.step);
      curve.add(point);
    });
  return curve;
}

/** TensorBoard shows the folder's name: `0003 lr=0.1 seed=2`. */
const folderName = (id: string, parameters: JobState['parameters']): string =>
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
