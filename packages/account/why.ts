export { type Explanation, standingWords } from './diagnosis/explanation.ts';
export { attemptSentences } from './why/checkpoint-sentences.ts';
export { explainNodes } from './why/explain-nodes.ts';
export { explainReasons, hasReasons } from './why/explain-reason.ts';
export { type FiledEntry, explainRunJob } from './why/explain-run-job.ts';
export { explainStory, headlineOf } from './why/explain-story.ts';
export { explainedLabel, explanationPage } from './why/explanation-page.ts';
export {
  type ExplainedGroup,
  groupAccount,
  groupExplanations,
  groupJobs,
  maxLabels,
} from './why/group-explanations.ts';
export { type Need, whatMustChange } from './why/what-must-change.ts';
export { explainTrainingError } from './why/training-errors.ts';
