import type { FaultRecord, Outcome, RunBody } from '../../journal/entry.ts';
import type { JobState } from '../../journal/state.ts';
import { slurmFiles } from './slurm-files.ts';

/** How Slurm says that a job stands. */
export interface QueueRow {
  /** Slurm's word, like `PENDING` or `NODE_FAIL`. */
  state: string;
  /** Why it waits, or ended so. */
  reason: string;
}

/** States of a job that will run, or run again. */
const waitingStates = new Set([
  'PENDING',
  'REQUEUED',
  'REQUEUE_FED',
  'REQUEUE_HOLD',
  'RESV_DEL_HOLD',
  'SPECIAL_EXIT',
]);
/** States that end a job; in all others it is at work. */
const endedStates = new Set([
  'BOOT_FAIL',
  'CANCELLED',
  'COMPLETED',
  'DEADLINE',
  'FAILED',
  'LAUNCH_FAILED',
  'NODE_FAIL',
  'OUT_OF_MEMORY',
  'PREEMPTED',
  'RECONFIG_FAIL',
  'REVOKED',
  'TIMEOUT',
]);

/** What ends of jobs mean, whose own script could say nothing. */
const endMeanings: Record<string, { outcome: Outcome; fault: FaultRecord }> = {
  CANCELLED: {
    outcome: 'stopped',
    fault: { kind: 'interrupted', message: 'it was cancelled in Slurm’s queue' },
  },
  TIMEOUT: timeLimit('Slurm ended it at its time limit'),
  DEADLINE: timeLimit('Slurm ended it at its deadline'),
  OUT_OF_MEMORY: {
    outcome: 'failed',
    fault: {
      kind: 'training-failed',
      message: 'Slurm ended it: it used more memory than requested',
      fix: 'ask for more `memory` in [resources]: updraft retry --memory SIZE',
    },
  },
};

function timeLimit(message: string): { outcome: Outcome; fault: FaultRecord } {
  const fix = 'ask for more `time` in [resources], or set `checkpoint`: the next attempt goes on from there';
  return { outcome: 'failed', fault: { kind: 'time-limit', message, fix } };
}

/** Whether Slurm says that a job is over: squeue forgets it some minutes after that. */
export const isOver = (row: QueueRow | undefined): boolean => row === undefined || endedStates.has(row.state);

/** What Slurm's enforcers print into a job's own log when they kill all of it. */
const memoryKillPattern = /exceeded (?:job )?memory limit|oom[-_ ]?kill|out[-_ ]of[-_ ]memory/i;

/**
 * What the scheduler's word on a job adds to what its own journal tells: attempts that ended without a word, jobs
 * that are held, cancelled or gone. Nothing for a job whose journal says it all. `said` is the end of what Slurm and
 * the job's script printed. Pure.
 */
export function judgeTask(job: JobState, row: QueueRow | undefined, said: string): RunBody[] {
  if (isOver(row)) return ended(job, row?.state, said);
  if (row === undefined || !waitingStates.has(row.state)) return [];
  const message = `Slurm took the job from its node and queued it again (${row.reason})`;
  return [...endOfAttempt(job, 'evicted', { kind: 'evicted', message }), ...holding(job, row)];
}

function ended(job: JobState, state: string | undefined, said: string): RunBody[] {
  const known = state === 'FAILED' && memoryKillPattern.test(said) ? 'OUT_OF_MEMORY' : (state ?? '');
  const { outcome, fault } = job.stopRequested ? stopped : (endMeanings[known] ?? lost(job.id, state, said));
  return [
    ...released(job, 'it left the queue'),
    ...(outcome === 'stopped' ? [] : unreportedAttempt(job, fault)),
    ...endOfAttempt(job, outcome, fault),
    { kind: 'job-ended', job: job.id, outcome },
  ];
}

/** Slurm started it, on a node that could not write a word of it. */
function unreportedAttempt({ id, attempts, attemptsBefore = 0 }: JobState, fault: FaultRecord): RunBody[] {
  const last = attempts.at(-1)?.attempt ?? 0;
  if (last > attemptsBefore) return [];
  const [job, attempt] = [id, last + 1];
  return [
    { kind: 'attempt-started', job, attempt, why: 'started by Slurm' },
    { kind: 'attempt-ended', job, attempt, outcome: 'lost', exit: null, fault },
  ];
}

const stopped = {
  outcome: 'stopped' as const,
  fault: { kind: 'interrupted' as const, message: 'it was stopped' },
};

function lost(
  job: string,
  state: string | undefined,
  said: string,
): { outcome: Outcome; fault: FaultRecord } {
  const how = state === undefined ? 'is not in Slurm’s queue any more' : `ended in Slurm’s queue as ${state}`;
  const last = said.trim().split('\n').at(-1) ?? '';
  const words = last === '' ? 'without a word' : `after these words: ${last}`;
  const fix = `see ${slurmFiles.said}/${job}.log; the run's folder must be on a file system that all nodes share; \`updraft retry\` tries it again`;
  return { outcome: 'lost', fault: { kind: 'evicted', message: `it ${how}, ${words}`, fix } };
}

function endOfAttempt({ id, attempts }: JobState, outcome: Outcome, fault: FaultRecord): RunBody[] {
  const last = attempts.at(-1);
  if (last === undefined || last.outcome !== undefined) return [];
  return [{ kind: 'attempt-ended', job: id, attempt: last.attempt, outcome, exit: null, fault }];
}

const released = ({ id, held }: JobState, why: string): RunBody[] =>
  held === undefined ? [] : [{ kind: 'job-released', job: id, why }];

/** A hold by hand waits for that person; of any other, people must be told that it will not end by itself. */
function holding(job: JobState, { state, reason }: QueueRow): RunBody[] {
  const { id, held } = job;
  const isHeld = /held/i.test(reason) || state === 'REQUEUE_HOLD' || state === 'SPECIAL_EXIT';
  if (!isHeld) return released(job, 'scontrol release');
  if (held !== undefined) return [];
  const isByHand = /JobHeldUser/i.test(reason);
  const fault: FaultRecord = {
    kind: isByHand ? 'interrupted' : 'evicted',
    message: `Slurm holds it: ${reason}`,
    fix: `release it with scontrol release, or end it with updraft stop`,
  };
  return [
    { kind: 'job-held', job: id, fault },
    ...(isByHand ? [] : [{ kind: 'job-ended' as const, job: id, outcome: 'failed' as const }]),
  ];
}
