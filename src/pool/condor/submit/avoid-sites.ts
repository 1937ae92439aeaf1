import type { Policy } from '../../../recovery/policy.ts';

/** Holds by the job's own rules: attempts that ended by themselves and are to wait. */
const policyHolds = '(NumHoldsByReason.JobPolicy ?: 0)';

/** Failed attempts: those that ended by themselves and those that were held, each counted once. Holds by hand do not count, nor do failures before a retry by hand. */
export const failures = `((NumJobCompletions ?: 0) + (NumHolds ?: 0) - ${policyHolds} - (NumHoldsByReason.UserRequest ?: 0) - (UpdraftForgiven ?: 0))`;

/** The attribute with the number of starts before the last retry by hand. */
export const forgivenStarts = 'UpdraftForgivenStarts';

/** Failures before the job itself runs that HTCondor retries forever: transfers and images; with HTCondor's counters. */
export const endlessVacates: Record<number, string> = {
  12: 'TransferOutputError',
  13: 'TransferInputError',
  45: 'SingularityTestFailed',
};

/** How many earlier places HTCondor remembers at most. */
const maxAvoidedSites = 10;

/**
 * Lines that keep a job away from where it failed. HTCondor remembers the places of the last attempts; index 0 and 1
 * are the same place while the job waits. Evictions and trouble that is the same everywhere avoid nothing.
 */
export function avoidLines({ attempts }: Policy): string[] {
  return [
    'job_machine_attrs = GLIDEIN_ResourceName, Machine',
    `job_machine_attrs_history_length = ${rememberedSites(attempts)}`,
  ];
}

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
  const isBlameless = `${failures} - ${policyHolds} <= 0 && !member(VacateReasonCode ?: 0, {${Object.keys(endlessVacates).join(', ')}})`;
  const isLeft = `(time() - EnteredCurrentStatus) > ${backoff.forgetAfter}`;
  return `(${isBlameless}) || ${isLeft} || (${others.join(' && ')})`;
}
