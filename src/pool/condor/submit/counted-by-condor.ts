/** Holds that the job's own rules asked for: attempts that ended by themselves and are to wait. */
export const policyHolds = '(NumHoldsByReason.JobPolicy ?: 0)';

/** Attempts that failed: those that ended by themselves and those that were held, each once. Holds by hand are none, and a retry by hand forgives. */
export const failures = `((NumJobCompletions ?: 0) + (NumHolds ?: 0) - ${policyHolds} - (NumHoldsByReason.UserRequest ?: 0) - (UpdraftForgiven ?: 0))`;

/** Trouble before the job itself runs, after which HTCondor goes on for ever: transfers and images, and how it counts them. */
export const endlessVacates: Record<number, string> = {
  12: 'TransferOutputError',
  13: 'TransferInputError',
  45: 'SingularityTestFailed',
};
