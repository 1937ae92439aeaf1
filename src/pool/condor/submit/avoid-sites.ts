import type { Policy } from '../../../recovery/policy.ts';

/** Holds that the job's own rules asked for: attempts that ended by themselves and are to wait. */
const policyHolds = '(NumHoldsByReason.JobPolicy ?: 0)';

/** Attempts that failed: those that ended by themselves and those that were held, each once. Holds by hand are none, and a retry by hand forgives. */
export const failures = `((NumJobCompletions ?: 0) + (NumHolds ?: 0) - ${policyHolds} - (NumHoldsByReason.UserRequest ?: 0) - (UpdraftForgiven ?: 0))`;

/** Trouble before the job itself runs, after which HTCondor goes on for ever: transfers and images, and how it counts them. */
export const endlessVacates: Record<number, string> = {
  12: 'TransferOutputError',
  13: 'TransferInputError',
  45: 'SingularityTestFailed',
};

/** Earlier places that HTCondor is asked to remember, at the most. */
const maxAvoidedSites = 10;

/**
 * Lines that keep a job away from where it failed. HTCondor remembers the places of the last attempts; index 0 and 1
 * name the same one while the job waits. Evictions and trouble that is the same everywhere start no avoidance.
 */
export function avoidLines({ attempts }: Policy): string[] {
  return [
    'job_machine_attrs = GLIDEIN_ResourceName, Machine',
    `job_machine_attrs_history_length = ${rememberedSites(attempts)}`,
  ];
}

const rememberedSites = (attempts: number): number => Math.min(attempts, maxAvoidedSites) + 1;

/**
 * The condition on machines; undefined where nothing is avoided. It names what HTCondor counts and no attribute of
 * ours: jobs that differ only in how often they failed must not be taken for the same by the scheduler.
 */
export function avoidance({ avoid, attempts, backoff }: Policy): string | undefined {
  if (avoid === 'none') return undefined;
  // A pool without sites is avoided machine by machine. An attribute that is not there must exclude nothing.
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
