export { diskFiles, surveyOnDisk } from './submit/disk-files.ts';
export { evaluateNumber } from './submit/macro-functions.ts';
export { whyNotRun } from './submit/may-run.ts';
export { parseSubmit } from './submit/parse-submit.ts';
export { markedName } from './submit/resolve-jobs.ts';
export { BadQuoting, splitArguments, splitEnvironment, wordsOf } from './submit/split-arguments.ts';
export type { Submission, SubmittedJob, SubmittedQueue } from './submit/submission.ts';
export {
  type Batch,
  type PastUsage,
  type PoolLimits,
  type SubmitFacts,
  type WrapperText,
  attributeValue,
  batches,
  fileList,
  formatQuantity,
  isUrl,
  parseQuantity,
  submittedImage,
  valueOf,
  whereSet,
} from './submit/submit-facts.ts';
export { type FileFact, type SubmitFiles, filesFrom, isSubmitFile } from './submit/submit-files.ts';
export { type SurveyOptions, surveyWhereItFits } from './submit/survey.ts';
export { undefinedNames } from './submit/undefined-names.ts';
