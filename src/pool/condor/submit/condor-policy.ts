import type { Plan } from '../../../job/plan.ts';
import { policyOf, type Policy } from '../../../recovery/policy.ts';
import { isAtLeast, type CondorVersion } from '../tools/condor-version.ts';
import type { Profile } from './profiles.ts';

/** The first version whose schedd asks for more memory by itself. */
const growsSince: CondorVersion = '25.2.1';

/** What is done about failures of a plan's jobs in a pool with these limits. */
export const condorPolicy = ({ spec, disk }: Plan, { pace }: Profile, version: CondorVersion): Policy =>
  policyOf(spec, { diskBytes: disk.bytes, pace, growsItself: isAtLeast(version, growsSince) });
