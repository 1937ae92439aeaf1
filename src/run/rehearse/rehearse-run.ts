import { rehearsalPrefix } from '../list-runs.ts';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, formatSize, readJsonFile, succeeds } from '@updraft/base';
import type { WorkOrder } from '../../job/job.ts';
import { attemptFiles, attemptFolder } from '../../job/layout.ts';
import { isOnDemand } from '../../job/on-demand.ts';
import type { Plan } from '../../job/plan.ts';
import { isAgentEntry } from '../../journal/codec.ts';
import type { AgentEntry } from '../../journal/entry.ts';
import type { AttemptState, RunState } from '../../journal/state.ts';
import { readJournal } from '../../journal/tail.ts';
import type { Pool } from '../../pool/pool.ts';
import { createRun, newRunName, withCreationLease } from '../create-run.ts';
import { withPackedData } from '../pack-data.ts';
import { followRunStates } from '../run-states.ts';
import {
  type Eviction,
  hasCaughtUp,
  hasShownProgress,
  hasTrainingToLose,
  isInTransfer,
  reachedPoint,
} from './eviction.ts';
import { howToReport, type RehearsalRecord } from './rehearsal-steps.ts';

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
        `attempt ${attempt.attempt}: nothing was reported or saved to evict it after: ${howToReport}`,
      );
    }
    const during = nextEviction(evictions, attempt);
    if (during === undefined) continue;
    const isDone = await succeeds(pool.evict(folder, attempt.job));
    if (!isDone) continue; // it has ended meanwhile
    evictions.push({
      during,
      attempt: attempt.attempt,
      at: context.clock.now(),
      reached: reachedPoint(attempt),
    });
    context.say(`attempt ${attempt.attempt}: evicted during the ${during}`);
  }
  if (last === undefined) throw context.signal.reason;
  return { folder, state: last, evictions: evictions.filter((eviction) => tookEffect(last, eviction)) };
}

/** An eviction of an attempt that was about to succeed does not count. */
const tookEffect = ({ jobs }: RunState, { attempt }: Eviction): boolean =>
  jobs[0]?.attempts.find((one) => one.attempt === attempt)?.outcome !== 'success';

/** What the attempt is to be evicted from now, if anything. */
function nextEviction(evictions: readonly Eviction[], attempt: AttemptState): Eviction['during'] | undefined {
  if (evictions.some((eviction) => eviction.attempt === attempt.attempt)) return undefined;
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
    say(`attempt ${attempt.attempt}: as far again after ${seconds} s`);
  }
}

/** Everything a rehearsal left to be judged by. */
export async function gatherRecord(plan: Plan, rehearsal: Rehearsal): Promise<RehearsalRecord> {
  const { folder, state, evictions } = rehearsal;
  const [job = { id: '', status: 'ended' as const, stopRequested: false, attempts: [] }] = state.jobs;
  const journals = new Map<number, readonly AgentEntry[]>();
  const left: string[] = [];
  for (const { attempt } of job.attempts) {
    const place = attemptFolder(folder, job.id, attempt);
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
