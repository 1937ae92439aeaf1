import path from 'node:path';
import { readJsonFile } from '@updraft/base';
import { type Place, type Policy, policyOf } from '@updraft/account/recovery';
import type { Plan } from '../../../job/plan.ts';
import { variantsOf } from '../../../job/variants.ts';
import { condorFiles } from '../condor-files.ts';
import { adString } from './submit-text.ts';
import { type Profile, profileNamed } from './profiles.ts';

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
  const written = await writtenPolicy(runFolder);
  if (written !== undefined) return written;
  const { backoff } = await profileNamed(spec.run.profile ?? 'htcondor', {});
  return policyOf(spec, { diskBytes: disk.bytes, backoff });
}

/** Holds by the job's own rules: attempts that ended by themselves and are to wait. */
const policyHolds = '(NumHoldsByReason.JobPolicy ?: 0)';

/**
 * Failed attempts: those that ended by themselves and those that were held, each counted once.
 * Holds by hand do not count, nor do failures before a retry by hand.
 */
export const failures =
  `((NumJobCompletions ?: 0) + (NumHolds ?: 0) - ${policyHolds} ` +
  '- (NumHoldsByReason.UserRequest ?: 0) - (UpdraftForgiven ?: 0))';

/** The attribute with the number of starts before the last retry by hand. */
export const forgivenStarts = 'UpdraftForgivenStarts';

/** Failures before the job itself runs that HTCondor retries forever (transfers, images), with HTCondor's counters. */
export const endlessVacates: Record<number, string> = {
  12: 'TransferOutputError',
  13: 'TransferInputError',
  45: 'SingularityTestFailed',
};

/** More places would make the line long; a slot elsewhere is as good as the mean. */
const maxRanked = 30;

/**
 * What makes HTCondor prefer one of several free slots: 100 is the mean. It never makes a job wait for a better slot.
 * Undefined if all are alike.
 */
export function rankExpression(places: readonly Place[]): string | undefined {
  const named = places
    .map(({ worth, ...place }) => ({ ...place, value: Math.round(100 * worth) }))
    // A machine's own name must not keep the next run from being submitted.
    .filter(({ value, site, gpu }) => value !== 100 && !/[\\\p{Cc}]/u.test(site + gpu))
    .sort((a, b) => b.attempts - a.attempts)
    .slice(0, maxRanked);
  // A place's own figure counts before that of its GPU.
  const ordered = [...named.filter(({ site }) => site !== ''), ...named.filter(({ site }) => site === '')];
  if (ordered.length === 0) return undefined;
  return `${ordered.map(({ value, ...place }) => `(${isPlace(place)}) ? ${value} : `).join('')}100`;
}

function isPlace({ site, gpu }: Pick<Place, 'site' | 'gpu'>): string {
  const name = adString(site);
  const here = ['GLIDEIN_ResourceName', 'GLIDEIN_Site', 'Machine'].map((one) => `TARGET.${one} =?= ${name}`);
  const has = `(TARGET.GPUs_DeviceName ?: TARGET.CUDADeviceName) =?= ${adString(gpu)}`;
  return [site === '' ? [] : `(${here.join(' || ')})`, gpu === '' ? [] : has].flat().join(' && ');
}

/** How many earlier places HTCondor remembers at most. */
const maxAvoidedSites = 10;

/**
 * Lines that keep a job away from where it failed. HTCondor remembers the places of the last attempts; index 0 and 1
 * are the same place while the job waits. Evictions and trouble that is the same everywhere avoid nothing.
 */
export function avoidLines({ attempts }: Policy): string[] {
  return [
    'job_machine_attrs = GLIDEIN_ResourceName, Machine, CondorVersion',
    `job_machine_attrs_history_length = ${rememberedSites(attempts)}`,
  ];
}

/** With the number of an attempt after it, back from the last one: `$CondorVersion: 25.14.1 …` of its machine. */
export const machineVersion = 'MachineAttrCondorVersion';

const rememberedSites = (attempts: number): number => Math.min(attempts, maxAvoidedSites) + 1;

/**
 * The condition on machines; undefined if nothing is avoided. It uses HTCondor's own counters and no attribute of ours:
 * otherwise the negotiator would treat jobs with different failures as the same.
 */
export function avoidance({ avoid, attempts, backoff }: Policy): string | undefined {
  if (avoid === 'none') return undefined;
  // A pool without sites is avoided machine by machine. A missing attribute must exclude nothing.
  const here = avoid === 'site' ? '(TARGET.GLIDEIN_ResourceName ?: TARGET.Machine)' : 'TARGET.Machine';
  const before = (index: number): string =>
    avoid === 'site'
      ? `(MachineAttrGLIDEIN_ResourceName${index} ?: MachineAttrMachine${index} ?: "")`
      : `(MachineAttrMachine${index} ?: "")`;
  const others = Array.from(
    { length: rememberedSites(attempts) },
    (_, index) => `${here} =!= ${before(index)}`,
  );
  const isBlameless =
    `${failures} - ${policyHolds} <= 0 && !member(VacateReasonCode ?: ` +
    `0, {${Object.keys(endlessVacates).join(', ')}})`;
  const isLeft = `(time() - EnteredCurrentStatus) > ${backoff.forgetAfter}`;
  return `(${isBlameless}) || ${isLeft} || (${others.join(' && ')})`;
}
