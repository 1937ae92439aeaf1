import { clip, counted, given } from '@updraft/base';
import { byImportance, isLowerBetter } from '@updraft/base/training';
import { type Cause, causeTitle, sentence } from '@updraft/account/codes';
import { type FaultKind, kinds } from '@updraft/account/fault';
import type { JobHistory } from '@updraft/account/history';
import {
  type AttemptState,
  describeDamage,
  idleSeconds,
  type JobState,
  type RunState,
  silence,
} from '@updraft/account/journal';
import {
  isFailed,
  jobsByCause,
  type LogReport,
  lossColumns,
  readRun,
  remedyFor,
  searchCharts,
  sections,
  sumOver,
  timeSummary,
} from '@updraft/account/report';
import { formatMillis, formatSeconds, formatShare } from '@updraft/view/format';
import { sectionHtml } from '@updraft/view/html';
import { withoutEmptyColumns } from '@updraft/view/document';
import type { Board, Problem, Tone } from './page-data.ts';

export type BoardContext = Pick<Board, 'place' | 'trouble' | 'stop' | 'retry'>;

/** Pure. */
export function boardOf(state: RunState, context: BoardContext, now: number): Board {
  const { jobs, report } = readRun(context.place, state);
  const wrong = [...problemsOf(jobs), ...troublesNow(state, now)];
  return {
    run: state.run,
    name: state.name,
    pool: state.pool,
    createdAt: millisOf(state.createdAt),
    endedAt: millisOf(state.endedAt),
    at: now,
    jobs: state.tally.total,
    metrics: boardMetrics(state),
    counts: countsOf(state),
    verdict: verdictOf(state, wrong, now),
    wrong,
    doing: activitiesOf(state),
    wasted: wastedOf(report),
    tables: tablesOf(report),
    damage: describeDamage(state) ?? null,
    account: state.trouble ?? null,
    ...context,
  };
}

function millisOf(time: string | undefined): number | null {
  const millis = Date.parse(time ?? '');
  return Number.isNaN(millis) ? null : millis;
}

/** What jobs have measured, those first that most likely decide. */
export function boardMetrics({ jobs }: RunState): Board['metrics'] {
  const names = new Set(jobs.flatMap((job) => Object.keys(job.metrics)));
  const directions = jobs[0]?.directions;
  return byImportance([...names], directions).map((name) => ({
    name,
    isLowerBetter: isLowerBetter(name, directions),
  }));
}

function countsOf({ tally }: RunState): Board['counts'] {
  const all: Board['counts'] = [
    { label: 'done', jobs: tally.success, tone: 'good' },
    { label: 'running', jobs: tally.running, tone: 'busy' },
    { label: 'waiting', jobs: tally.waiting, tone: 'idle' },
    { label: 'held', jobs: tally.held, tone: 'warn' },
    { label: 'without a result', jobs: tally['wrong-output'] + tally.failed, tone: 'bad' },
    { label: 'stopped', jobs: tally.removed, tone: 'idle' },
  ];
  return all.filter(({ jobs: count }) => count > 0);
}

function verdictOf(state: RunState, wrong: Problem[], now: number): Board['verdict'] {
  const { total, success, removed } = state.tally;
  const jobsWith = (isYours: boolean): number =>
    wrong.filter(({ needsYou }) => needsYou === isYours).reduce((sum, { jobs }) => sum + jobs, 0);
  const [needing, handled] = [jobsWith(true), jobsWith(false)];
  const have = success === 1 || total === 1 ? 'has' : 'have';
  const detail = `${success} of ${counted(total, 'job')} ${have} a valid result${pace(state, now)}`;
  const say = (tone: Tone, headline: string) => ({ tone, headline, detail });
  if (state.endedAt !== undefined) {
    if (success === total) return say('good', 'Success: every job has a valid result.');
    if (success + removed === total) return say('idle', `Stopped: ${counted(removed, 'job')} ended early.`);
    const lack = needing === 1 ? 'has' : 'have';
    return say('bad', `Ended: ${counted(needing, 'job')} ${lack} no valid result.`);
  }
  if (state.stopRequested) return say('idle', 'The run is being stopped.');
  const needy = `${counted(needing, 'job')} of ${total} ${needing === 1 ? 'needs' : 'need'}`;
  if (needing > total / 10) return say('bad', `No: ${needy} you.`);
  if (needing > 0) return say('warn', `Mostly: ${needy} you.`);
  if (handled > 0)
    return say('busy', `Yes: ${counted(handled, 'job')} had trouble, and it is being handled.`);
  if (state.tally.running === 0) return say('idle', 'Waiting: no job is running now.');
  return say('good', 'Yes: nothing is wrong.');
}

function pace(state: RunState, now: number): string {
  const from = millisOf(state.createdAt);
  if (from === null) return '';
  const to = millisOf(state.endedAt) ?? now;
  return `; ${state.endedAt === undefined ? 'running for' : 'took'} ${formatMillis(Math.max(0, to - from))}`;
}

const maxMessageChars = 600;
const maxExamples = 5;

/** What is wrong with the run: each cause of the report once, and what is tried again after those for the user. */
function problemsOf(jobs: readonly JobHistory[]): Problem[] {
  const isStopped = ({ outcome, cause }: JobHistory): boolean => outcome === 'removed' && cause === 'user';
  const again = jobs.flatMap((job) => {
    const last = job.attempts.at(-1);
    if (job.outcome === 'waiting' && last !== undefined) {
      const { cause = 'silent-end', fault } = last;
      return [{ ...job, cause, reason: fault?.message ?? '' }];
    }
    return job.outcome === 'running' && job.cause !== undefined ? [job] : [];
  });
  const needing = jobs.filter((job) => isFailed(job) && !isStopped(job));
  return [
    ...jobsByCause(needing).map(([cause, same]) => problemOf(cause, same, true)),
    ...jobsByCause(again).map(([cause, same]) => problemOf(cause, same, false)),
  ];
}

const problemOf = (cause: Cause, same: readonly JobHistory[], needsYou: boolean): Problem => ({
  ...troubleOf(cause, same),
  fix: clip(remedyFor(same, cause, 'run'), maxMessageChars),
  needsYou,
});

type Trouble = Pick<JobHistory, 'id' | 'reason'>;

const troubleOf = (cause: Cause | keyof typeof nowWords, same: readonly Trouble[]): Problem => ({
  cause,
  what: cause === 'silent' || cause === 'idle-gpu' ? nowWords[cause] : sentence(causeTitle(cause)),
  jobs: same.length,
  examples: same.slice(0, maxExamples).map(({ id }) => id),
  message: clip(same.find(({ reason }) => reason)?.reason ?? '', maxMessageChars),
  fix: '',
  needsYou: false,
});

/** What troubles running attempts at this moment, which no report has. */
function troublesNow({ jobs }: RunState, now: number): Problem[] {
  const found = jobs.flatMap(({ id, status, attempts }) => {
    const last = attempts.at(-1);
    if (status !== 'running' || last === undefined || last.pool?.disconnected !== undefined) return [];
    const setback = openSetbacks(last).at(-1)?.fault;
    const idle = last.phase === 'training' ? idleSeconds(last.agent) : undefined;
    return given(
      idle !== undefined && { id, cause: 'idle-gpu' as const, reason: `idle for ${formatSeconds(idle)}` },
      silence(last, now) !== undefined && { id, cause: 'silent' as const, reason: '' },
      setback !== undefined && { id, cause: setback.kind, reason: setback.message },
    );
  });
  return [...Map.groupBy(found, ({ cause }) => cause)].map(([cause, same]) => troubleOf(cause, same));
}

const nowWords = {
  silent: 'The agent has not reported for more than a minute: the machine or the network may be down.',
  'idle-gpu': 'The GPU is idle, although the training goes on.',
};

const openSetbacks = ({ agent }: AttemptState) =>
  (agent?.fetches ?? []).filter(({ done }) => !done).flatMap(({ setbacks }) => setbacks);

/** What Updraft and the pool are doing about it. Pure. */
function activitiesOf(state: RunState): Board['doing'] {
  const all = state.jobs.flatMap((job) => activityOf(job) ?? []);
  return [...Map.groupBy(all, (what) => what)]
    .map(([what, { length }]) => ({ what, jobs: length }))
    .sort((a, b) => b.jobs - a.jobs);
}

function activityOf(job: JobState): string | undefined {
  const last = job.attempts.at(-1);
  if (job.status === 'ended') return undefined;
  if (job.stopRequested) return 'being stopped';
  if (job.held !== undefined)
    return canPass(job.held.kind) ? 'held; a rule of the run releases it after a wait' : 'held until you act';
  if (last === undefined) return undefined;
  if (job.status === 'waiting') return `waiting for another attempt (last one: ${after(last)})`;
  if (openSetbacks(last).length > 0) return 'resuming a transfer, possibly from another server';
  const before = job.attempts.at(-2);
  return before && `running again (last attempt: ${after(before)})`;
}

const after = ({ cause }: AttemptState): string => cause ?? 'success';

const canPass = (kind: FaultKind): boolean => kinds[kind].retry !== 'never';

function wastedOf(report: LogReport): Board['wasted'] {
  const { slotTotalSeconds: slot, slotSeconds, setbacks, verdict } = report;
  if (slot === 0) return { headline: 'No time on a slot yet.', detail: '', verdict: '' };
  const lost = sumOver(slotSeconds, lossColumns);
  const [worst] = setbacks;
  const share = `${formatSeconds(lost)} of ${formatSeconds(slot)} on slots (${formatShare(lost / slot)})`;
  const most = worst === undefined ? '' : `Most of it: ${worst.cause}, ${formatSeconds(worst.lostSeconds)}.`;
  return {
    headline: lost === 0 ? 'Nothing was lost.' : share,
    detail: `${timeSummary(report)
      .map(({ words, share: part }) => `${words} ${formatShare(part)}`)
      .join(', ')}.`,
    verdict: verdict?.text ?? (lost === 0 ? '' : most),
  };
}

const shown = ['search', 'time', 'setbacks', 'sites', 'gpus', 'places', 'broken', 'caches'];

const tablesOf = (report: LogReport): string =>
  sections(report)
    .filter(({ id }) => shown.includes(id))
    .map((section) => {
      const charts = section.id === 'search' ? searchCharts(report) : [];
      return sectionHtml(
        withoutEmptyColumns(section),
        charts.map(({ svg }) => svg),
      );
    })
    .join('');
