import { stat } from 'node:fs/promises';
import path from 'node:path';
import { condorFiles } from '../condor-files.ts';

/** Whether a run on HTCondor was made of somebody's own submit description: then no agent is in its jobs. */
export async function isAdopted(runFolder: string): Promise<boolean> {
  const isThere = (file: string): Promise<boolean> =>
    stat(path.join(runFolder, file)).then(
      () => true,
      () => false,
    );
  return (await isThere(condorFiles.submit)) && !(await isThere(condorFiles.items));
}
