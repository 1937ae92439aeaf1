export { diskFiles, surveyOnDisk, whyNotRun } from './submit/disk-files.ts';
export { evaluateNumber } from './submit/expand-macros.ts';
export { parseSubmit } from './submit/parse-submit.ts';
export { markedName } from './submit/resolve-jobs.ts';
export { BadQuoting, splitArguments, splitEnvironment, wordsOf } from './submit/split-arguments.ts';
export type { Submission, SubmittedJob, SubmittedQueue } from './submit/submission.ts';
export {
  type Batch,
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
  type SurveyOptions,
  surveyWhereItFits,
  undefinedNames,
} from './submit/submit-facts.ts';
export { type FileFact, type SubmitFiles, filesFrom, isSubmitFile } from './submit/submit-files.ts';
