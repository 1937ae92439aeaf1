import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, formatSize, readJsonFile, succeeds, counted, defined } from '@updraft/base';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import {
  type AgentEntry,
  type AttemptState,
  isAgentEntry,
  readJournal,
  type RunState,
  describePosition,
  type JobState,
  type AgentState,
  metricsOf,
  type TrainingState,
} from '@updraft/account/journal';
import { rehearsalPrefix, followRunStates } from '../run-states.ts';
import type { WorkOrder } from '../../job/job.ts';
import { isOnDemand } from '../../job/on-demand.ts';
import type { Plan } from '../../job/plan.ts';
import type { Pool } from '../../pool/pool.ts';
import { createRun, newRunName, withCreationLease, withPackedData } from '../create-run.ts';

export interface RehearsalContext {
  clock: Clock;
  pid: number;
  signal: AbortSignal;
  version: string;
  /** Called with a line for each step. */
  say: (line: string) => void;
}

/** What a rehearsal found. */
export interface Rehearsal {
  folder: string;
  state: RunState;
  evictions: Eviction[];
}

/** After this long without any progress, the user learns that nothing is there to evict after. */
const silentMs = 600_000;

/** The plan of a rehearsal: one job, evicted on purpose. */
export function rehearsalPlan(plan: Plan): Plan {
  const [job] = plan.jobs;
  const name = `${rehearsalPrefix}${plan.spec.name}`;
  return { ...plan, isRehearsal: true, spec: { ...plan.spec, name }, jobs: job === undefined ? [] : [job] };
}

/** Creates and submits a rehearsal. Returns its folder. */
export async function startRehearsal(plan: Plan, pool: Pool, context: RehearsalContext): Promise<string> {
  const run = newRunName(plan, context.clock);
  const folder = await withCreationLease(plan, context, () =>
    withPackedData(plan, run, context, async (packed) => {
      const { files } = await pool.render(packed, run);
      return await createRun(packed, files, context.version, context.clock, run);
    }),
  );
  await pool.submit(folder);
  return folder;
}

/**
 * Follows a rehearsal to its end and evicts it twice: once during the transfer, once during the training. An attempt
 * that is too quick for that is left alone.
 */
export async function rehearse(folder: string, pool: Pool, context: RehearsalContext): Promise<Rehearsal> {
  const evictions: Eviction[] = [];
  let last: RunState | undefined;
  let isSaid = false;
  for await (const state of followRunStates(folder, context)) {
    last = state;
    const attempt = state.jobs[0]?.attempts.at(-1);
    if (attempt === undefined) continue;
    reportRecovery(evictions, attempt, context);
    const { agent } = attempt;
    if (!isSaid && agent !== undefined && agent.millis.training >= silentMs && !hasShownProgress(agent)) {
      isSaid = true;
      context.say(
        `attempt ${attempt.number}: nothing was reported or saved to evict it after: ${howToReport}`,
      );
    }
    const during = nextEviction(evictions, attempt);
    if (during === undefined) continue;
    const isDone = await succeeds(pool.evict(folder, attempt.job));
    if (!isDone) continue; // it has ended meanwhile
    evictions.push({
      during,
      attempt: attempt.number,
      at: context.clock.now(),
      reached: reachedPoint(attempt),
    });
    context.say(`attempt ${attempt.number}: evicted during the ${during}`);
  }
  if (last === undefined) throw context.signal.reason;
  return { folder, state: last, evictions: evictions.filter((eviction) => tookEffect(last, eviction)) };
}

/** An eviction of an attempt that was about to succeed does not count. */
const tookEffect = ({ jobs }: RunState, { attempt }: Eviction): boolean =>
  jobs[0]?.attempts.find((one) => one.number === attempt)?.ending !== 'success';

/** What the attempt is to be evicted from now, if anything. */
function nextEviction(evictions: readonly Eviction[], attempt: AttemptState): Eviction['during'] | undefined {
  if (evictions.some((eviction) => eviction.attempt === attempt.number)) return undefined;
  const has = (during: Eviction['during']): boolean => evictions.some((one) => one.during === during);
  if (!has('transfer') && !has('training') && isInTransfer(attempt)) return 'transfer';
  return !has('training') && hasTrainingToLose(attempt) ? 'training' : undefined;
}

function reportRecovery(
  evictions: readonly Eviction[],
  attempt: AttemptState,
  { clock, say }: RehearsalContext,
): void {
  for (const eviction of evictions) {
    if (eviction.backAt !== undefined || !hasCaughtUp(eviction, attempt)) continue;
    eviction.backAt = clock.now();
    const seconds = ((eviction.backAt - eviction.at) / 1000).toFixed(1);
    say(`attempt ${attempt.number}: as far again after ${seconds} s`);
  }
}

/** Everything a rehearsal left to be judged by. */
export async function gatherRecord(plan: Plan, rehearsal: Rehearsal): Promise<RehearsalRecord> {
  const { folder, state, evictions } = rehearsal;
  const [job] = state.jobs as [JobState];
  const journals = new Map<number, readonly AgentEntry[]>();
  const left: string[] = [];
  for (const { job: id, number: attempt } of job.attempts) {
    const place = attemptFolder(folder, id, attempt);
    const { entries } = await readJournal(path.join(place, attemptFiles.journal));
    journals.set(attempt, entries.filter(isAgentEntry));
    const scratch = await scratchOf(place);
    if (scratch !== undefined && (await stat(scratch).catch(() => undefined)) !== undefined)
      left.push(scratch);
  }
  const { checkpoint } = plan.spec.train;
  return {
    job,
    evictions,
    journals,
    hasData: !plan.data.every(isOnDemand),
    checkpoint,
    left,
    showSize: formatSize,
  };
}

/** On the local pool the order says where the attempt had its scratch; elsewhere it was the scheduler's. */
async function scratchOf(folder: string): Promise<string | undefined> {
  return (await readJsonFile<WorkOrder>(path.join(folder, attemptFiles.order)))?.scratchParent;
}

/** Something a rehearsal shows: `shown`, `failed`, or `not shown` because it did not happen or could not be seen. */
export interface RehearsalStep {
  name: string;
  result: 'shown' | 'failed' | 'not shown';
  /** A sentence with figures. */
  said: string;
  /** What to do if it is not shown. */
  fix?: string;
  /** The time the eviction cost, in milliseconds. */
  lostMillis?: number;
}

/** Everything a rehearsal knows at its end. */
export interface RehearsalRecord {
  job: JobState;
  evictions: readonly Eviction[];
  journals: ReadonlyMap<number, readonly AgentEntry[]>;
  hasData: boolean;
  /** The checkpoint folder that the job file names. */
  checkpoint: string | undefined;
  /** Scratch folders that still exist. */
  left: readonly string[];
  showSize: (bytes: number) => string;
}

/** What a rehearsal has shown. Pure. */
export function rehearsalSteps(record: RehearsalRecord): RehearsalStep[] {
  return [...transferSteps(record), ...trainingSteps(record), cleaned(record), valid(record)];
}

const shown = (name: string, said: string): RehearsalStep => ({ name, result: 'shown', said });
const failed = (name: string, said: string, fix: string): RehearsalStep => ({
  name,
  result: 'failed',
  said,
  fix,
});
const notShown = (name: string, said: string): RehearsalStep => ({ name, result: 'not shown', said });

const lost = ({ at, backAt }: Eviction): { lostMillis?: number } =>
  backAt === undefined ? {} : { lostMillis: backAt - at };

function transferSteps(record: RehearsalRecord): RehearsalStep[] {
  const name = 'evicted during the transfer';
  if (!record.hasData) return [notShown(name, 'the job has no data to transfer')];
  const eviction = record.evictions.find(({ during }) => during === 'transfer');
  if (eviction === undefined) return [notShown(name, 'the transfer was over too quickly')];
  const { showSize } = record;
  const { bytes, total } = eviction.reached;
  const far =
    total === undefined || total <= bytes ? showSize(bytes) : `${showSize(bytes)} of ${showSize(total)}`;
  const where = total !== undefined && total <= bytes ? `when all ${far} had arrived` : `at ${far}`;
  return [shown(name, `attempt ${eviction.attempt}, ${where}`), fetchedAgain(record, eviction)];
}

function fetchedAgain({ journals, showSize }: RehearsalRecord, eviction: Eviction): RehearsalStep {
  const name = 'data fetched again';
  const next = journals.get(eviction.attempt + 1) ?? [];
  const fetched = next.filter((entry) => entry.kind === 'fetched').reduce((sum, { bytes }) => sum + bytes, 0);
  if (fetched === 0)
    return failed(
      name,
      `attempt ${eviction.attempt + 1} did not get its data`,
      'run `updraft why` to see the cause',
    );
  const first = next.find((entry) => entry.kind === 'fetch-progress')?.bytes ?? 0;
  const isResumed = eviction.reached.bytes > 0 && first >= eviction.reached.bytes && first < fetched;
  const how = isResumed ? `resumed at ${showSize(first)}` : `fetched again, ${showSize(fetched)}`;
  return { ...shown(name, how), ...lost(eviction) };
}

function trainingSteps(record: RehearsalRecord): RehearsalStep[] {
  const name = 'evicted during the training';
  const eviction = record.evictions.find(({ during }) => during === 'training');
  if (eviction === undefined && ![...record.journals.values()].flat().some(isProgress))
    return [
      {
        ...notShown(name, 'the training reported no progress and saved nothing to evict it after'),
        fix: howToReport,
      },
    ];
  if (eviction === undefined) {
    const fix = 'rehearse with more epochs, for example --set train.command="…"';
    return [{ ...notShown(name, 'the training ended before it had something to lose'), fix }];
  }
  const said = `attempt ${eviction.attempt}${placeOf(eviction.reached)}`;
  return [shown(name, said), kept(record, eviction), resumed(record, eviction)];
}

/** What a training must do so that a rehearsal can see how far it is. */
const howToReport =
  'print a line for each epoch, such as: epoch 3/10 loss 0.42, or use `updraft.training` (docs/progress.md)';

const isProgress = (entry: AgentEntry): boolean =>
  entry.kind === 'checkpoint-saved' || (entry.kind === 'progress' && hasShownProgress({ training: entry }));

const placeOf = (position: Parameters<typeof describePosition>[0]): string =>
  describePosition(position).replace(/^(?=.)/, ', at ');

function kept({ journals, checkpoint, showSize }: RehearsalRecord, { attempt }: Eviction): RehearsalStep {
  const name = 'checkpoint kept';
  if (checkpoint === undefined)
    return failed(
      name,
      'the job file names no checkpoint: an eviction loses all progress',
      'save checkpoints to a folder and name it: checkpoint = "…" in [train]',
    );
  const saved = journals.get(attempt)?.findLast((entry) => entry.kind === 'checkpoint-saved');
  if (saved === undefined)
    return failed(
      name,
      `attempt ${attempt} had nothing in ${checkpoint} when it was evicted`,
      `save to ${checkpoint} in every epoch`,
    );
  const { files, bytes } = saved;
  return shown(name, `${counted(files, 'file')}, ${showSize(bytes)}${placeOf(saved)}`);
}

type Progress = Extract<AgentEntry, { kind: 'progress' }>;

function resumed({ journals, checkpoint }: RehearsalRecord, eviction: Eviction): RehearsalStep {
  const name = 'training resumed';
  // A training may report its accuracy before its position.
  const reported = (attempt: number): Progress[] =>
    (journals.get(attempt) ?? [])
      .filter((entry) => entry.kind === 'progress')
      .filter(({ epoch, step }) => epoch !== undefined || step !== undefined);
  const [before, after] = [reported(eviction.attempt), reported(eviction.attempt + 1)];
  const [from, first] = [before[0], after[0]];
  const checked = journals.get(eviction.attempt + 1)?.find((entry) => entry.kind === 'resume-checked');
  const place = describePosition(first ?? {});
  const hasResumed = { ...shown(name, `resumed at ${place}`), ...lost(eviction) };
  if (checked?.movedOn && first !== undefined) return hasResumed;
  if (from === undefined || first === undefined || comparePoints(from, before.at(-1) ?? from) === 0)
    return {
      ...notShown(name, 'the training reported no epoch or step to compare'),
      fix: howToReport,
    };
  if (comparePoints(first, from) > 0) return hasResumed;
  const folder = checkpoint ?? 'its checkpoint folder';
  const fix = `load the checkpoint in ${folder} when the training starts: it did not`;
  return failed(name, `the training started at ${place} again`, fix);
}

function cleaned({ job, journals, left }: RehearsalRecord): RehearsalStep {
  const name = 'scratch cleaned up';
  const [folder] = left;
  const fix = 'remove it, and see supervisor.log in the run folder';
  if (folder !== undefined) return failed(name, `${folder} is still there`, fix);
  const silent = job.attempts.filter(
    ({ number }) => !(journals.get(number) ?? []).some((entry) => entry.kind === 'cleaned'),
  );
  const count = job.attempts.length;
  const isPools = ({ number }: AttemptState): boolean =>
    (journals.get(number) ?? []).some((entry) => entry.kind === 'cleaned' && entry.by === 'pool');
  if (silent.length === 0 && job.attempts.some(isPools))
    return { name, result: 'shown', said: 'left to the pool, which removes the sandbox of each attempt' };
  if (silent.length === 0) return shown(name, `after each of ${counted(count, 'attempt')}`);
  const which = silent.map(({ number }) => number).join(', ');
  return notShown(name, `no clean-up is recorded for attempt ${which}`);
}

function valid({ job }: RehearsalRecord): RehearsalStep {
  const name = 'valid result';
  const last = job.attempts.at(-1);
  if (job.outcome === 'success') return shown(name, `from attempt ${last?.number ?? 1}`);
  const said = last?.fault?.message ?? `the job ended as ${job.outcome}`;
  return failed(name, said, last?.fault?.fix ?? 'run `updraft why` to see the cause');
}

/** How far an attempt got. */
interface ReachedPoint {
  bytes: number;
  total?: number;
  epoch?: number;
  step?: number;
}

/** An eviction, and how long it took until the job was as far again. Milliseconds of one clock. */
interface Eviction {
  during: 'transfer' | 'training';
  attempt: number;
  at: number;
  reached: ReachedPoint;
  /** When a later attempt got as far; undefined if none has. */
  backAt?: number;
}

function reachedPoint({ agent }: AttemptState): ReachedPoint {
  const fetches = agent?.fetches ?? [];
  const total = fetches.every((fetch) => fetch.total !== undefined)
    ? fetches.reduce((sum, fetch) => sum + (fetch.total ?? 0), 0)
    : undefined;
  const { epoch, step }: Partial<TrainingState> = agent?.training ?? {};
  return { bytes: fetches.reduce((sum, { bytes }) => sum + bytes, 0), ...defined({ total, epoch, step }) };
}

/** Whether the attempt is transferring data, and has some of it. */
function isInTransfer({ phase, agent, ending }: AttemptState): boolean {
  if (ending !== 'running' || agent === undefined) return false;
  return (phase === 'fetching' || phase === 'unpacking') && agent.fetches.some(({ bytes }) => bytes > 0);
}

/** An epoch may take hours: after this long, a checkpoint within it is also something to lose. */
const longEpochMs = 60_000;

/** A training that reports no epochs is not evicted at its very first sign of progress. */
const minTrainingMs = 10_000;

/** Whether the training has saved or reported anything: one that has not may still be starting. */
const hasShownProgress = ({
  training = {},
  checkpoint,
}: Pick<AgentState, 'checkpoint'> & {
  training?: Partial<TrainingState>;
}): boolean =>
  checkpoint !== undefined ||
  (training.epoch ?? training.step) !== undefined ||
  Object.keys(metricsOf(training)).length > 0;

/**
 * Whether the attempt trains and has something to lose: a second epoch, a checkpoint in a long first one, or, if the
 * training reports no epochs, a checkpoint, a step or a metric. Time alone says nothing: imports may take minutes.
 */
export function hasTrainingToLose({
  phase,
  agent,
  ending,
}: Pick<AttemptState, 'phase' | 'agent' | 'ending'>): boolean {
  if (ending !== 'running' || agent === undefined || phase !== 'training') return false;
  const { training, checkpoint, millis } = agent;
  if ((training?.epoch ?? 0) >= 2) return true;
  if (training?.epoch === undefined) return hasShownProgress(agent) && millis.training >= minTrainingMs;
  return checkpoint !== undefined && millis.training >= longEpochMs;
}

/** Whether a later attempt got as far as the evicted one. */
function hasCaughtUp(eviction: Eviction, later: AttemptState): boolean {
  if (later.number <= eviction.attempt) return false;
  const now = reachedPoint(later);
  const { bytes, epoch, step } = eviction.reached;
  if (eviction.during === 'transfer') return now.bytes >= bytes || later.phase === 'training';
  if (later.ending === 'success') return true;
  if (epoch === undefined && step === undefined) return later.phase === 'training';
  return comparePoints(now, { epoch, step }) >= 0 && later.agent?.training !== undefined;
}

/** By epoch, then by step; a missing value counts as 0. */
function comparePoints(
  a: { epoch?: number | undefined; step?: number | undefined },
  b: { epoch?: number | undefined; step?: number | undefined },
): number {
  return (a.epoch ?? 0) - (b.epoch ?? 0) || (a.step ?? 0) - (b.step ?? 0);
}
