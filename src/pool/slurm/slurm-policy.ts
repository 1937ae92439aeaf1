import type { Plan } from '../../job/plan.ts';
import { policyOf, type Policy } from '../../recovery/policy.ts';

/** Another node is tried at once; trouble that is the same everywhere is given time, as on HTCondor. */
const pace = { firstWait: 300, mostWait: 3600, atOnce: 2, letGo: 0 };

/** A partition has machines and no sites: whoever avoids a site avoids the machine. */
export function slurmPolicy({ spec, disk }: Plan): Policy {
  const policy = policyOf(spec, { diskBytes: disk.bytes, pace });
  return {
    ...policy,
    avoid: policy.avoid === 'site' ? 'machine' : policy.avoid,
    // Disks of nodes are nobody's to ask for.
    disk: { ...policy.disk, most: policy.disk.asked },
  };
}
