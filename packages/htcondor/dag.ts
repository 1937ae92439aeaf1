export type { DagFacts } from './dag/dag-rules.ts';
export {
  readDagRun,
  type DagRun,
  type NotSubmitted,
  notSubmittedReasons,
  notSubmittedText,
  worseState,
} from './dag/not-submitted.ts';
export { type DagNode, type Dagman, parentsIn, submitFile } from './dag/dag.ts';
export type { DagmanEnd, FailedScript, NodeState } from './dag/dagman-log.ts';
export { isDag } from './dag/is-dag.ts';
export { dagmanEnds, nodeJobLabel, nodeJobs, startedInner } from './dag/node-jobs.ts';
export { nodeLogs } from './dag/node-outcomes.ts';
export { readDag, type Rescue, rescueLines } from './dag/read-dag.ts';
export { lintDag, shownDag, surveyDag } from './dag/survey-dag.ts';
