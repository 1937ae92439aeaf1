export type { PlannedJob } from './journal/complete-job.ts';
export { decode, decodeLive, encode, isAgentEntry } from './journal/codec.ts';
export {
  describeConnection,
  describePosition,
  describeResume,
  describeRung,
  lastRung,
  stoppedEarly,
} from './journal/describe-attempt.ts';
export {
  type AgentBody,
  type AgentBodyOf,
  type AgentEntry,
  type Entry,
  type FaultRecord,
  type Load,
  type MetricScale,
  type Outcome,
  type Phase,
  type Progress,
  type RefusedMetrics,
  type RequestShort,
  type RunBody,
  type RungPlace,
  type WorkerMachine,
  maxMetricName,
  maxMetrics,
  progressFields,
  toFaultRecord,
} from './journal/entry.ts';
export { type Journal, ShortWrite, openAgentJournal, openJournal } from './journal/file.ts';
export { foldAgent } from './journal/fold-agent.ts';
export { type PlannedFor, RunFold, fold } from './journal/fold.ts';
export {
  type EntrySource,
  type SourceUpdate,
  damageOf,
  followRun,
  loadOutline,
  loadRun,
} from './journal/load-run.ts';
export { metricsOf, refusedOfRun } from './journal/metrics.ts';
export { idleSeconds, silence } from './journal/silence.ts';
export type { AgentState, FetchState, TrainingState } from './journal/agent-state.ts';
export {
  type AccountTrouble,
  type AttemptState,
  type JobState,
  type Observation,
  type RunState,
  describeDamage,
  endedBadly,
  isOpen,
  runEndedAt,
} from './journal/state.ts';
export { JournalTail, readJournal, readJournalEnds, readRunJournal, readWhole } from './journal/tail.ts';
export {
  type Curve,
  CurveStitcher,
  type CurveUnit,
  type TrainingPoint,
  isCurveEntry,
  isProgressLine,
} from './journal/training-curve.ts';
export { clampShare, epochsDone, trainingShare } from './journal/training-share.ts';
