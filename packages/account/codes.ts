export { type Cause, causeInfo, causeTitle, sentence } from './codes/causes.ts';
export {
  type ReportedHold,
  codeRows,
  codeRowsOf,
  exitOfHold,
  faultOfHold,
  remedyForHold,
  whoMustAct,
} from './codes/codes.ts';
export { describeLeftOut, describePreference } from './codes/describe-caches.ts';
export { removals } from './codes/evictions.ts';
export { formatGivenUp } from './codes/given-up.ts';
export {
  type Remedy,
  exitCodesFor,
  finalFailures,
  kindOfExit,
  lastSignal,
  policyHoldCode,
  policySubcodes,
  ranOutAttributes,
  remedyForKind,
  signalBase,
} from './codes/remedies.ts';
export { type CodeRow, patternOf } from './codes/row.ts';
