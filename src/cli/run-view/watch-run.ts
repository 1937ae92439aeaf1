import { printable } from '../../base/printable.ts';
import type { JobState, RunState } from '../../journal/state.ts';
import type { Cli } from '../cli.ts';
import { whileRefreshing } from './current-state.ts';
import { glyphsFor } from '../text/glyphs.ts';
import { latestAttempt, placeOf } from './job-progress.ts';
import { jobFigures, jobNotes, jobWord } from './job-words.ts';
import { liveView } from './live-view.ts';
import { openScreen } from '../text/screen.ts';
import { tellTrouble } from './tell-trouble.ts';
import type { Terminal } from '../text/terminal.ts';
import { followRunStates, readRunState } from '../../run/run-states.ts';

/**
 * Shows a run until it ends, or until the user leaves: a screen on a terminal, a line per change elsewhere, with
 * `json` an object per change. Gives the last state seen; without `endedAt` the user left and the run goes on.
 */
export async function watchRun(
  cli: Cli,
  runFolder: string,
  { json = false }: { json?: boolean } = {},
): Promise<RunState> {
  const { terminal } = cli;
  return await whileRefreshing(cli, runFolder, () => {
    if (json) return watchPlainly(cli, runFolder, jsonLines);
    if (terminal !== undefined && cli.env['TERM'] !== 'dumb') return watchLive(cli, runFolder, terminal);
    return watchPlainly(cli, runFolder, textLines);
  });
}

async function watchLive(cli: Cli, runFolder: string, terminal: Terminal): Promise<RunState> {
  const leave = new AbortController();
  const signal = AbortSignal.any([cli.signal, leave.signal]);
  let state: RunState | undefined;
  const glyphs = glyphsFor(cli.env);
  const hint = 'q leaves, the run goes on';
  const frame = () => ({ ...terminal.size(), now: cli.clock.now(), color: cli.color, glyphs, hint });
  const screen = openScreen(cli, terminal, {
    draw: () => (state === undefined ? [] : liveView(state, frame())),
    onKey: (key) => {
      if (['q', 'Q', '\x03', '\x1b'].includes(key)) leave.abort();
    },
  });
  try {
    for await (state of followRunStates(runFolder, { clock: cli.clock, signal })) screen.redraw();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    screen.close();
  }
  if (state === undefined) return readRunState(runFolder);
  const last = liveView(state, { ...frame(), hint: 'left' });
  cli.out(`${last.join('\n')}\n`);
  return state;
}

/** What to print when one state follows another. */
type Lines = (before: RunState | undefined, now: RunState, at: number) => string[];

async function watchPlainly(cli: Cli, runFolder: string, lines: Lines): Promise<RunState> {
  let before: RunState | undefined;
  try {
    for await (const state of followRunStates(runFolder, { clock: cli.clock, signal: cli.signal })) {
      for (const line of lines(before, state, cli.clock.now())) cli.out(`${line}\n`);
      if (before?.trouble?.message !== state.trouble?.message) tellTrouble(cli, state);
      before = state;
    }
  } catch (thrown) {
    if (!cli.signal.aborted) throw thrown;
  }
  return before ?? readRunState(runFolder);
}

/** The jobs that changed, whole, and how the run stands. */
const jsonLines: Lines = (before, now, at) => {
  const { run, tally, endedAt, trouble } = now;
  const jobs = changedJobs(before, now);
  const time = new Date(at).toISOString();
  return [JSON.stringify({ at: time, run, tally, endedAt: endedAt ?? null, trouble, jobs })];
};

const textLines: Lines = (before, now, at) => {
  const known = new Map(before?.jobs.map((job) => [job.id, newsOf(job)]));
  return changedJobs(before, now)
    .filter((job) => known.get(job.id) !== newsOf(job) && !isAboutToEnd(job))
    .map((job) => textLine(job, at));
};

/** Jobs are replaced, never changed, so that those that are the same object are the same. */
function changedJobs(before: RunState | undefined, now: RunState): JobState[] {
  const known = new Set(before?.jobs);
  return now.jobs.filter((job) => !known.has(job));
}

/** Between a good attempt's end and its job's end there is nothing to say. */
const isAboutToEnd = (job: JobState): boolean =>
  job.status === 'waiting' && latestAttempt(job)?.outcome === 'success';

/** What is worth a new line: the figures in it that change all the time are not. */
function newsOf(job: JobState): string {
  const attempt = latestAttempt(job);
  const training = attempt?.agent?.training;
  const setbacks = attempt?.agent?.fetches.reduce((sum, fetch) => sum + fetch.setbacks.length, 0) ?? 0;
  return [jobWord(job), attempt?.attempt, training?.epoch, setbacks, job.stopRequested].join(' ');
}

function textLine(job: JobState, at: number): string {
  const attempt = latestAttempt(job);
  const place = placeOf(attempt);
  const time = new Date(at).toISOString().slice(0, 19);
  const detail = [...jobFigures(job), ...jobNotes(job, at)].join(', ');
  return [
    `${time}Z`,
    printable(job.id),
    ...(attempt === undefined ? [] : [`try ${attempt.attempt}`]),
    jobWord(job),
    ...(place === '' ? [] : [`at ${printable(place)}`]),
    ...(detail === '' ? [] : [`(${detail})`]),
  ].join(' ');
}
