export {
  activities,
  type Activity,
  type AttemptEnd,
  type AttemptHistory,
  type JobHistory,
  type JobOutcome,
  hasNumber,
  idInQueue,
  idParts,
} from './history/history.ts';
export { type EventReason, JobFold, type JobTransition } from './history/job-fold.ts';
export { type FoldOptions, LogFold } from './history/log-fold.ts';
export { isJobAds, readAds } from './history/read-ads.ts';
export { type HistoryOptions, type ReadHistory, readHistory } from './history/read-history.ts';
export { machineOf, siteOf } from './history/worker.ts';
