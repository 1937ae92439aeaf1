import { given } from '@updraft/base';
import type { Clock } from '@updraft/base';
import {
  type Entry,
  readRunJournal,
  type FaultRecord,
  type JobState,
  type Outcome,
  type RunBody,
} from '@updraft/account/journal';
import type { SlurmTools } from './slurm-tools.ts';
import { slurmFiles } from './slurm-files.ts';

/** A job's id in Slurm's queue. */
export interface TaskId {
  array: number;
  index: number;
}

export const taskName = ({ array, index }: TaskId): string => `${array}_${index}`;

/** Slurm's current ids of a run's jobs; jobs never submitted have none. */
export async function latestTasks(runFolder: string): Promise<Map<string, TaskId>> {
  const entries = await readRunJournal(runFolder);
  return tasksOf(entries);
}

/** A job keeps its index in every array; of a resubmitted job the latest array counts. Pure. */
export function tasksOf(entries: readonly Entry[]): Map<string, TaskId> {
  const all = entries.find((entry) => entry.kind === 'run-created')?.jobs ?? [];
  const rounds = new Map<number, readonly string[]>([[1, all]]);
  const tasks = new Map<string, TaskId>();
  for (const entry of entries) {
    if (entry.kind === 'canary-set') rounds.set(1, all.slice(0, entry.rungs[0]));
    if (entry.kind === 'round-started') rounds.set(entry.round, entry.jobs);
    if (entry.kind !== 'submitted') continue;
    for (const job of rounds.get(entry.round ?? 1) ?? [])
      tasks.set(job, { array: entry.cluster, index: Number(job) });
  }
  return tasks;
}

/** Indices for `sbatch --array` and `scancel`, such as `0-9,12`; shortest if ascending. */
export function arrayIndices(numbers: readonly number[]): string {
  const spans: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = spans.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else spans.push([number, number]);
  }
  return spans.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

/** The indices that squeue shows as `3`, `0-9,12` or `[0-9,12%4]`: waiting jobs share one line. */
export function expandIndices(text: string): number[] {
  return text
    .replaceAll(/[[\]]|%\d+/g, '')
    .split(',')
    .flatMap((span) => {
      const [from = NaN, to = from] = span.split('-').map((word) => Number.parseInt(word, 10));
      if (Number.isNaN(from) || Number.isNaN(to)) return [];
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    });
}

/** Cancels jobs: waiting ones leave the queue, running ones are asked to end. */
export async function stopTasks(tools: SlurmTools, tasks: readonly TaskId[]): Promise<void> {
  for (const name of taskExpressions(tasks))
    await tools.ask('scancel', [name]).catch((error: unknown) => {
      // Jobs that have left the queue need no cancelling.
      if (!/invalid job id|already completing or completed/i.test(String(error))) throw error;
    });
}

/** Several jobs of an array in one argument for Slurm's commands: `12_[0-9,14]`. */
export function taskExpressions(tasks: readonly TaskId[]): string[] {
  const arrays = Map.groupBy(tasks, ({ array }) => array);
  return [...arrays].map(([array, its]) => {
    const indices = its.map(({ index }) => index).sort((a, b) => a - b);
    return `${array}_[${arrayIndices(indices)}]`;
  });
}

const pollMs = 500;

/** Takes a job off its node: Slurm ends and requeues it. */
export async function evictTask(tools: SlurmTools, name: string, clock: Clock): Promise<void> {
  await tools.ask('scontrol', ['requeue', name]);
  const deadline = clock.monotonic() + tools.timeoutMs;
  while ((await tools.ask('squeue', ['-h', '-r', '-j', name, '-o', '%T'])).trim() !== 'PENDING') {
    if (clock.monotonic() > deadline) return;
    await clock.sleep(pollMs);
  }
  // Skips Slurm's delay of two minutes, which is for nodes in trouble.
  await tools.ask('scontrol', ['update', `JobId=${name}`, 'StartTime=now']);
}

/** A job's state in Slurm's queue. */
export interface QueueRow {
  /** Slurm's name for it, such as `PENDING` or `NODE_FAIL`. */
  state: string;
  /** Why it waits or ended. */
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
/** States that end a job; in all others it is active. */
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

/** What Slurm's end states mean for jobs whose script recorded nothing. */
const endMeanings: Record<string, { outcome: Outcome; fault: FaultRecord }> = {
  CANCELLED: { outcome: 'stopped', fault: { kind: 'interrupted', message: 'it was cancelled in Slurm' } },
  TIMEOUT: timeLimit('Slurm ended it at its time limit'),
  DEADLINE: timeLimit('Slurm ended it at its deadline'),
  OUT_OF_MEMORY: {
    outcome: 'failed',
    fault: {
      kind: 'training-failed',
      message: 'Slurm killed it: it used more memory than requested',
      fix: 'request more memory: updraft retry --memory SIZE',
    },
  },
};

function timeLimit(message: string): { outcome: Outcome; fault: FaultRecord } {
  const fix = 'request more `time` in [resources], or set `checkpoint` so that the next attempt resumes';
  return { outcome: 'failed', fault: { kind: 'time-limit', message, fix } };
}

/** Whether Slurm says that a job is over; squeue forgets it some minutes later. */
export const isOver = (row: QueueRow | undefined): boolean => row === undefined || endedStates.has(row.state);

/** What Slurm prints into a job's log when it kills the job for its memory. */
const memoryKillPattern = /exceeded (?:job )?memory limit|oom[-_ ]?kill|out[-_ ]of[-_ ]memory/i;

/**
 * What Slurm's state adds to a job's own journal: attempts that ended without reporting, jobs that are held, cancelled
 * or gone. Nothing for a job whose journal is complete. `said` is the last output of Slurm and the job's script.
 * Pure.
 */
export function judgeTask(job: JobState, row: QueueRow | undefined, said: string): RunBody[] {
  if (isOver(row)) return ended(job, row?.state, said);
  if (row === undefined || !waitingStates.has(row.state)) return [];
  const message = `Slurm took the job off its node and requeued it (${row.reason})`;
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

/** An attempt that Slurm started on a node that could not write to the journal. */
function unreportedAttempt({ id, attempts, attemptsBefore = 0 }: JobState, fault: FaultRecord): RunBody[] {
  const last = attempts.at(-1)?.number ?? 0;
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
  const how = state === undefined ? "is no longer in Slurm's queue" : `ended in Slurm as ${state}`;
  const last = said.trim().split('\n').at(-1) ?? '';
  const words = last === '' ? 'without any output' : `its last output was: ${last}`;
  const fix =
    `read ${slurmFiles.said}/${job}.log; make sure that all nodes ` +
    "share the file system of the run's folder; then `updraft retry`";
  return { outcome: 'lost', fault: { kind: 'evicted', message: `it ${how}, ${words}`, fix } };
}

function endOfAttempt({ id, attempts }: JobState, outcome: Outcome, fault: FaultRecord): RunBody[] {
  const last = attempts.at(-1);
  if (last === undefined || last.ending !== 'running') return [];
  return [{ kind: 'attempt-ended', job: id, attempt: last.number, outcome, exit: null, fault }];
}

const released = ({ id, held }: JobState, why: string): RunBody[] =>
  held === undefined ? [] : [{ kind: 'job-released', job: id, why }];

/** A hold by hand waits for its user; any other will not end by itself, so the job counts as failed. */
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
  return given(
    { kind: 'job-held', job: id, fault },
    !isByHand && { kind: 'job-ended' as const, job: id, outcome: 'failed' as const },
  );
}
