import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plan } from '../../../job/plan.ts';
import { type Policy, policyOf, withCurrentNames } from '../../../recovery/policy.ts';
import { condorFiles } from '../condor-files.ts';
import { condorProfiles, type Profile } from './profiles.ts';

/**
 * How long HTCondor keeps trying to reach a machine before it starts the job elsewhere; its own default is 40 minutes.
 * While it tries the training goes on, so a restart of the access point must fit in; but a machine that is gone costs
 * all of it, and a training with checkpoints loses less by starting elsewhere.
 */
const leaseSeconds = 1200;

/** What is done about failures of a plan's jobs in a pool with these limits. */
export const condorPolicy = ({ spec, disk }: Plan, { backoff }: Profile): Policy => ({
  ...policyOf(spec, { diskBytes: disk.bytes, backoff }),
  leaseSeconds,
});

/** The policy from which a run's rules were rendered; undefined for one that was not, such as an adopted run. */
export async function writtenPolicy(runFolder: string): Promise<Policy | undefined> {
  try {
    const text = await readFile(path.join(runFolder, condorFiles.policy), 'utf8');
    return withCurrentNames(JSON.parse(text)) as Policy;
  } catch {
    return undefined;
  }
}

/** The policy of a run, or, where nobody wrote it down, the one that its plan stands for. */
export async function readPolicy(runFolder: string, { spec, disk }: Plan): Promise<Policy> {
  const { backoff } = condorProfiles[spec.run.profile ?? 'htcondor'];
  return (await writtenPolicy(runFolder)) ?? policyOf(spec, { diskBytes: disk.bytes, backoff });
}
