import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plan } from '../../../job/plan.ts';
import { type Policy, policyOf } from '../../../recovery/policy.ts';
import { condorFiles } from '../condor-files.ts';
import { condorProfiles, type Profile } from './profiles.ts';

/**
 * How long HTCondor tries to reconnect to a machine before it restarts the job elsewhere; its default is 40 minutes.
 * Meanwhile the training continues, so this must cover a restart of the access point; but a dead machine costs all of
 * it, and a training with checkpoints loses less by starting elsewhere.
 */
const leaseSeconds = 1200;

/** How failures of a plan's jobs are handled in a pool with these limits. */
export const condorPolicy = ({ spec, disk }: Plan, { backoff }: Profile): Policy => ({
  ...policyOf(spec, { diskBytes: disk.bytes, backoff }),
  leaseSeconds,
});

/** The policy from which a run's rules were rendered; undefined for a run without, such as an adopted one. */
export async function writtenPolicy(runFolder: string): Promise<Policy | undefined> {
  try {
    const text = await readFile(path.join(runFolder, condorFiles.policy), 'utf8');
    return JSON.parse(text) as Policy;
  } catch {
    return undefined;
  }
}

/** The policy of a run, or the one of its plan if none was written. */
export async function readPolicy(runFolder: string, { spec, disk }: Plan): Promise<Policy> {
  const { backoff } = condorProfiles[spec.run.profile ?? 'htcondor'];
  return (await writtenPolicy(runFolder)) ?? policyOf(spec, { diskBytes: disk.bytes, backoff });
}
