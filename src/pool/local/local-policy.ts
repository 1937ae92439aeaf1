import type { Plan } from '../../job/plan.ts';
import { policyOf, type Policy } from '../../recovery/policy.ts';

/** There is one machine: nothing can be avoided, and nobody limits memory or disk. */
const pace = { firstWait: 5, mostWait: 300, atOnce: 0, letGo: 0 };

export const localPolicy = ({ spec, disk }: Plan): Policy => policyOf(spec, { diskBytes: disk.bytes, pace });
