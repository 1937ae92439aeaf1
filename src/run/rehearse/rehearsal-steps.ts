import { counted } from '@updraft/base';
import { describePosition } from '../../journal/describe-attempt.ts';
import type { AgentEntry } from '../../journal/entry.ts';
import type { JobState } from '../../journal/state.ts';
import { comparePoints, type Eviction, hasShownProgress } from './eviction.ts';

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
export const howToReport =
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
    ({ attempt }) => !(journals.get(attempt) ?? []).some((entry) => entry.kind === 'cleaned'),
  );
  const count = job.attempts.length;
  const isPools = ({ attempt }: { attempt: number }): boolean =>
    (journals.get(attempt) ?? []).some((entry) => entry.kind === 'cleaned' && entry.by === 'pool');
  if (silent.length === 0 && job.attempts.some(isPools))
    return { name, result: 'shown', said: 'left to the pool, which removes the sandbox of each attempt' };
  if (silent.length === 0) return shown(name, `after each of ${counted(count, 'attempt')}`);
  const which = silent.map(({ attempt }) => attempt).join(', ');
  return notShown(name, `no clean-up is recorded for attempt ${which}`);
}

function valid({ job }: RehearsalRecord): RehearsalStep {
  const name = 'valid result';
  const last = job.attempts.at(-1);
  if (job.outcome === 'success') return shown(name, `from attempt ${last?.attempt ?? 1}`);
  const said = last?.fault?.message ?? `the job ended as ${job.outcome ?? 'lost'}`;
  return failed(name, said, last?.fault?.fix ?? 'run `updraft why` to see the cause');
}
