import path from 'node:path';
import { isThere } from '../../../base/error-reason.ts';
import { condorFiles } from '../condor-files.ts';

/** Whether a run on HTCondor was made of somebody's own submit description: then no agent is in its jobs. */
export async function isAdopted(runFolder: string): Promise<boolean> {
  const has = (file: string): Promise<boolean> => isThere(path.join(runFolder, file));
  return (await has(condorFiles.submit)) && !(await has(condorFiles.items));
}
