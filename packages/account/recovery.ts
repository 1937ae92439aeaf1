export {
  type Decision,
  type EndedAttempt,
  allowedRemedy,
  decide,
  hasProgressed,
  outOfMemoryCount,
  pastAttempts,
} from './recovery/decide.ts';
export { describePolicy, describeWaits } from './recovery/describe-policy.ts';
export {
  type Interruptions,
  countInterruptions,
  expectedLoss,
  meanLife,
  meanSaveSeconds,
} from './recovery/interruptions.ts';
export { nextBatch, trialsAtRung } from './recovery/next-batch.ts';
export { type Place, placesOf, scorePlaces } from './recovery/places.ts';
export {
  type AttemptRecovery,
  type Backoff,
  type Growth,
  type Policy,
  attemptRecovery,
  avoidances,
  defaultLeaseSeconds,
  growthSteps,
  policyOf,
  requestAfter,
  waitAfter,
} from './recovery/policy.ts';
export { type FailureCounts, willRelease } from './recovery/releases.ts';
