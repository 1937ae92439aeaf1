import { counted } from '../base/counted.ts';
import { byImportance, isLowerBetter } from '../base/metric-direction.ts';
import { jobMetrics } from '../journal/training-curve.ts';
import { describeDamage, type FetchState, type RunState } from '../journal/state.ts';
import { formatMillis } from '../report/format.ts';
import { phaseRowsOf } from './job-row.ts';
import type { Board, CacheFigures, Problem, SiteFigures, Tone } from './page-data.ts';
import { activitiesOf, problemsOf } from './problems.ts';
import { wasteOf } from './waste.ts';

export type BoardContext = Pick<Board, 'place' | 'trouble' | 'stop' | 'retry'>;

/** Pure. */
export function boardOf(state: RunState, context: BoardContext, now: number): Board {
  const wrong = problemsOf(state, now);
  return {
    run: state.run,
    name: state.name,
    pool: state.pool,
    createdAt: millisOf(state.createdAt),
    endedAt: millisOf(state.endedAt),
    at: now,
    jobs: state.tally.total,
    metrics: metricsOf(state),
    counts: countsOf(state),
    verdict: verdictOf(state, wrong, now),
    wrong,
    doing: activitiesOf(state),
    waste: wasteOf(state),
    sites: sitesOf(state),
    caches: cachesOf(state),
    damage: describeDamage(state) ?? null,
    account: state.trouble ?? null,
    ...context,
  };
}

function millisOf(time: string | undefined): number | null {
  const millis = Date.parse(time ?? '');
  return Number.isNaN(millis) ? null : millis;
}

function metricsOf({ jobs }: RunState): Board['metrics'] {
  const names = new Set(jobs.flatMap((job) => Object.keys(jobMetrics(job).metrics)));
  const directions = jobs[0]?.directions;
  return byImportance([...names], directions).map((name) => ({
    name,
    isLowerBetter: isLowerBetter(name, directions),
  }));
}

function countsOf({ tally, jobs }: RunState): Board['counts'] {
  const held = jobs.filter((job) => job.held !== undefined && job.status === 'waiting').length;
  const bad = tally['wrong-output'] + tally.failed + tally.evicted + tally.lost;
  const all: Board['counts'] = [
    { label: 'done', jobs: tally.success, tone: 'good' },
    { label: 'running', jobs: tally.running, tone: 'busy' },
    { label: 'waiting', jobs: Math.max(0, tally.waiting - held), tone: 'idle' },
    { label: 'held', jobs: held, tone: 'warn' },
    { label: 'without a result', jobs: bad, tone: 'bad' },
    { label: 'stopped', jobs: tally.stopped, tone: 'idle' },
  ];
  return all.filter(({ jobs: count }) => count > 0);
}

function verdictOf(state: RunState, wrong: Problem[], now: number): Board['verdict'] {
  const { total, success, stopped } = state.tally;
  const jobsWith = (isYours: boolean): number =>
    wrong.filter(({ needsYou }) => needsYou === isYours).reduce((sum, { jobs }) => sum + jobs, 0);
  const [needing, handled] = [jobsWith(true), jobsWith(false)];
  const have = success === 1 || total === 1 ? 'has' : 'have';
  const detail = `${success} of ${counted(total, 'job')} ${have} a valid result${pace(state, now)}`;
  const say = (tone: Tone, headline: string) => ({ tone, headline, detail });
  if (state.endedAt !== undefined) {
    if (success === total) return say('good', 'Success: every job has a valid result.');
    if (success + stopped === total) return say('idle', `Stopped: ${counted(stopped, 'job')} ended early.`);
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

/** Only the largest are shown. */
const maxRows = 50;

/** By site, or by machine if the pool names no site. Pure. */
function sitesOf({ jobs }: RunState): SiteFigures[] {
  const sites = new Map<string, SiteFigures>();
  for (const row of jobs.flatMap(phaseRowsOf)) {
    const site = row.site || row.host || 'unknown';
    const empty = { site, attempts: 0, success: 0, running: 0, lost: 0, training: 0, slot: 0 };
    const figures = sites.get(site) ?? empty;
    sites.set(site, figures);
    figures.attempts += 1;
    figures[row.outcome === 'success' || row.outcome === 'running' ? row.outcome : 'lost'] += 1;
    figures.training += row.millis.training ?? 0;
    figures.slot += Object.values(row.millis).reduce((sum, millis) => sum + millis, 0);
  }
  return [...sites.values()].sort((a, b) => b.attempts - a.attempts).slice(0, maxRows);
}

interface ServerTotals extends CacheFigures {
  doneBytes: number;
  doneSeconds: number;
}

/**
 * Figures by cache or origin. A finished fetch counts what each server delivered; a running one counts all its bytes
 * for its current server. Pure.
 */
function cachesOf(state: RunState): CacheFigures[] {
  const servers = new Map<string, ServerTotals>();
  for (const job of state.jobs)
    for (const attempt of job.attempts)
      for (const fetch of attempt.agent?.fetches ?? [])
        countFetch(servers, fetch, attempt.endedAt === undefined);
  return [...servers.values()]
    .sort((a, b) => b.bytes - a.bytes || b.setbacks - a.setbacks)
    .slice(0, maxRows)
    .map(({ doneBytes, doneSeconds, ...figures }) => ({
      ...figures,
      meanRate: doneSeconds > 0 ? doneBytes / doneSeconds : null,
    }));
}

function countFetch(servers: Map<string, ServerTotals>, fetch: FetchState, live: boolean): void {
  const { done, seconds = 0, bytes } = fetch;
  const given = done ? (fetch.servers ?? []) : fetch.server === '' ? [] : [{ server: fetch.server, bytes }];
  for (const part of given) {
    const server = totalsOf(servers, part.server);
    server.fetches += 1;
    server.bytes += part.bytes;
    if (live && !done) server.rate += fetch.rate;
    if (done && seconds > 0) {
      server.doneBytes += part.bytes;
      server.doneSeconds += seconds;
    }
  }
  for (const setback of fetch.setbacks) {
    const server = totalsOf(servers, setback.server);
    server.setbacks += 1;
    server.lastSetback = setback.fault.kind;
  }
}

function totalsOf(servers: Map<string, ServerTotals>, name: string): ServerTotals {
  const known = servers.get(name) ?? {
    server: name,
    fetches: 0,
    bytes: 0,
    meanRate: null,
    rate: 0,
    setbacks: 0,
    lastSetback: '',
    doneBytes: 0,
    doneSeconds: 0,
  };
  servers.set(name, known);
  return known;
}
