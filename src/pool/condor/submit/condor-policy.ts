import path from 'node:path';
import { readJsonFile } from '@updraft/base';
import type { Plan } from '../../../job/plan.ts';
import { variantsOf } from '../../../job/variants.ts';
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

/** The policy of a run, and those of its variants where they differ, as the run's folder has it. */
export interface RunPolicy extends Policy {
  variants?: { jobs: string[]; policy: Policy }[];
}

export function condorRunPolicy(plan: Plan, profile: Profile): RunPolicy {
  const variants = variantsOf(plan).map((one) => ({
    jobs: one.jobs.map(({ id }) => id),
    policy: condorPolicy(one, profile),
  }));
  const differ = new Set(variants.map(({ policy }) => JSON.stringify(policy))).size > 1;
  return { ...condorPolicy(plan, profile), ...(differ && { variants }) };
}

export function policyOfJob({ variants, ...policy }: RunPolicy, job: string): Policy {
  return variants?.find(({ jobs }) => jobs.includes(job))?.policy ?? policy;
}

/** The policy from which a run's rules were rendered; undefined for a run without, such as an adopted one. */
export const writtenPolicy = (runFolder: string): Promise<RunPolicy | undefined> =>
  readJsonFile<RunPolicy>(path.join(runFolder, condorFiles.policy));

/** The policy of a run, or the one of its plan if none was written. */
export async function readPolicy(runFolder: string, { spec, disk }: Plan): Promise<RunPolicy> {
  const { backoff } = condorProfiles[spec.run.profile ?? 'htcondor'];
  return (await writtenPolicy(runFolder)) ?? policyOf(spec, { diskBytes: disk.bytes, backoff });
}
