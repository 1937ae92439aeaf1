import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plan } from '../../../job/plan.ts';
import { type Policy, policyOf } from '../../../recovery/policy.ts';
import { condorFiles } from '../condor-files.ts';
import { condorProfiles, type Profile } from './profiles.ts';

/** What is done about failures of a plan's jobs in a pool with these limits. */
export const condorPolicy = ({ spec, disk }: Plan, { pace }: Profile): Policy =>
  policyOf(spec, { diskBytes: disk.bytes, pace });

/** The policy from which a run's rules were rendered; undefined for one that was not, such as an adopted run. */
export async function writtenPolicy(runFolder: string): Promise<Policy | undefined> {
  try {
    return JSON.parse(await readFile(path.join(runFolder, condorFiles.policy), 'utf8')) as Policy;
  } catch {
    return undefined;
  }
}

/** The policy of a run, or, where nobody wrote it down, the one that its plan stands for. */
export async function readPolicy(runFolder: string, { spec, disk }: Plan): Promise<Policy> {
  const { pace } = condorProfiles[spec.run.profile ?? 'htcondor'];
  return (await writtenPolicy(runFolder)) ?? policyOf(spec, { diskBytes: disk.bytes, pace });
}
