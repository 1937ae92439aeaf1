export { acquireLease, createExclusive, leaseHolder, withLease } from './lease.ts';
export { fullPidNamespace, noForkCommand } from './no-forks.ts';
export { type ProcessIdentity, identifyProcess, identifySelf, livenessOf } from './process-identity.ts';
export { collectGarbageSoon, releaseMemory } from './release-memory.ts';
export { waitForChange } from './wait-for-change.ts';
