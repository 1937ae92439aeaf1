import path from 'node:path';
import { printable } from '@updraft/base';
import { asFault, Fault } from '@updraft/account/fault';
import { jobLabel } from '@updraft/account/parameters';
import type { JobState, RunState } from '@updraft/account/journal';
import { runOnEnd } from '../../pool/on-end.ts';
import type { Pool } from '../../pool/pool.ts';
import { keepGoing } from '../../run/rounds.ts';
import { followRunStates, readRunState } from '../../run/run-states.ts';
import { drawOut, type Cli } from '../cli.ts';
import type { SubmittedRun } from '../submit/submit-plan.ts';
import { glyphsFor } from '../text/glyphs.ts';
import type { Terminal } from '../text/terminal.ts';
import { removeUnneededSecrets, printTrouble, whileRefreshing } from './current-state.ts';
import { jobFigures, jobNotes, describeState, latestAttempt, placeOf } from './describe-job.ts';
import { liveView } from './live-view.ts';

/**
 * Shows a run until it ends, or until the user leaves: a screen on a terminal, a line per change elsewhere, with
 * `json` an object per change. Returns the last state seen; without `endedAt` the user left and the run continues.
 */
export async function watchRun(
  cli: Cli,
  runFolder: string,
  { json = false }: { json?: boolean } = {},
): Promise<RunState> {
  const { terminal } = cli;
  const since = cli.clock.now();
  const last = await whileRefreshing(cli, runFolder, () => {
    if (json) return watchPlain(cli, runFolder, jsonLines);
    if (terminal !== undefined && cli.env['TERM'] !== 'dumb') return watchLive(cli, runFolder, terminal);
    return watchPlain(cli, runFolder, textLines);
  });
  await removeUnneededSecrets(cli, runFolder, last);
  if (last.endedAt !== undefined) await announceEnd(cli, runFolder, last, cli.clock.now() - since);
  return last;
}

/** Whoever has watched for longer probably looks elsewhere. */
const bellAfterMs = 60_000;

async function announceEnd(cli: Cli, runFolder: string, state: RunState, watchedMs: number): Promise<void> {
  // OSC 9 is a desktop note in many terminals, also over ssh; others ignore it.
  if (cli.terminal !== undefined && watchedMs >= bellAfterMs)
    drawOut(cli, `\x07\x1b]9;updraft: ${printable(state.name)} has ended\x07`);
  const problem = await runOnEnd(runFolder, state, cli.env);
  if (problem !== undefined) cli.err(`updraft: ${problem}\n`);
}

async function watchLive(cli: Cli, runFolder: string, terminal: Terminal): Promise<RunState> {
  const leave = new AbortController();
  const signal = AbortSignal.any([cli.signal, leave.signal]);
  let state: RunState | undefined;
  const glyphs = glyphsFor(cli.env);
  const hint = 'q leaves it running';
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
  const { rows } = terminal.size();
  const last = liveView(state, {
    ...frame(),
    rows: Math.max(Math.min(rows, 12), rows - nextLines),
    hint: 'left',
  });
  drawOut(cli, `${last.join('\n')}\n`);
  return state;
}

/** What follows the last screen must not push its first lines away. */
const nextLines = 16;

/** What to print when one state follows another. */
type Lines = (before: RunState | undefined, now: RunState, at: number) => string[];

async function watchPlain(cli: Cli, runFolder: string, lines: Lines): Promise<RunState> {
  let before: RunState | undefined;
  try {
    for await (const state of followRunStates(runFolder, { clock: cli.clock, signal: cli.signal })) {
      for (const line of lines(before, state, cli.clock.now())) cli.out(`${line}\n`);
      if (before?.trouble?.message !== state.trouble?.message) printTrouble(cli, state);
      before = state;
    }
  } catch (thrown) {
    if (!cli.signal.aborted) throw thrown;
  }
  return before ?? readRunState(runFolder);
}

/** The changed jobs, with what a script decides by, and the state of the run. */
const jsonLines: Lines = (before, now, at) => {
  const { run, tally, endedAt, trouble } = now;
  const jobs = changedJobs(before, now).map(jobChange);
  const time = new Date(at).toISOString();
  return [JSON.stringify({ at: time, run, tally, endedAt: endedAt ?? null, trouble, jobs })];
};

/** How a job is, in few words: `status --json` has everything. */
function jobChange(job: JobState): object {
  const { id, status, outcome, parameters, held, stopRequested, results, metrics, best } = job;
  const attempt = latestAttempt(job);
  const { epoch, epochs, step, steps } = attempt?.agent?.training ?? {};
  return {
    ...{ id, status, state: describeState(job), outcome, parameters },
    ...{ attempt: attempt?.number, where: placeOf(job) || undefined, epoch, epochs, step, steps },
    ...{ metrics, best, held, fault: attempt?.fault ?? job.fault },
    ...{ stopRequested: stopRequested || undefined, results },
  };
}

const textLines: Lines = (before, now, at) => {
  const known = new Map(before?.jobs.map((job) => [job.id, changeKeyOf(job)]));
  return changedJobs(before, now)
    .filter((job) => known.get(job.id) !== changeKeyOf(job) && !isAboutToEnd(job))
    .map((job) => textLine(job, at));
};

/** Jobs are replaced, never mutated, so identical objects have not changed. */
function changedJobs(before: RunState | undefined, now: RunState): JobState[] {
  const known = new Set(before?.jobs);
  return now.jobs.filter((job) => !known.has(job));
}

/** Between a successful attempt's end and its job's end there is nothing to print. */
const isAboutToEnd = (job: JobState): boolean =>
  job.status === 'waiting' && latestAttempt(job)?.ending === 'success';

/** What is worth a new line; constantly changing figures are not. */
function changeKeyOf(job: JobState): string {
  const attempt = latestAttempt(job);
  const training = attempt?.agent?.training;
  const setbacks = attempt?.agent?.fetches.reduce((sum, fetch) => sum + fetch.setbacks.length, 0) ?? 0;
  const short = Object.keys(attempt?.agent?.short ?? {});
  return [
    describeState(job),
    attempt?.number,
    training?.epoch ?? tenthOf(training),
    setbacks,
    job.stopRequested,
    ...short,
  ].join(' ');
}

/** A training without epochs gets a line for every tenth of its steps. */
const tenthOf = ({ step, steps }: { step?: number; steps?: number } = {}): number | undefined =>
  step === undefined || steps === undefined ? undefined : Math.floor((10 * step) / steps);

function textLine(job: JobState, at: number): string {
  const attempt = latestAttempt(job);
  const place = placeOf(job);
  const time = new Date(at).toISOString().slice(0, 19);
  const detail = [...jobFigures(job), ...jobNotes(job, at)].join(', ');
  return [
    `${time}Z`,
    printable(jobLabel(job.id, job.name)),
    ...(attempt === undefined ? [] : [`try ${attempt.number}`]),
    describeState(job),
    ...(place === '' ? [] : [`at ${printable(place)}`]),
    ...(detail === '' ? [] : [`(${detail})`]),
  ].join(' ');
}

/** Watches until the end and keeps the run going; leaving is not a failure of the run. */
export async function watchToEnd(
  cli: Cli,
  { folder, argument, pool }: SubmittedRun,
  json = false,
): Promise<RunState> {
  const state = await watchKeepingGoing(cli, folder, pool, { json });
  if (state.endedAt !== undefined) return state;
  throw new Fault('interrupted', `left ${path.basename(folder)}: it continues without the view`, {
    fix: `\`updraft watch ${argument}\` returns to it, \`updraft stop ${argument}\` stops it`,
  });
}

/** Like `watchRun`, and meanwhile replaces a supervisor that has died, and queues the next canary batch. */
export async function watchKeepingGoing(
  cli: Cli,
  folder: string,
  pool: Pool,
  options: { json?: boolean },
): Promise<RunState> {
  const over = new AbortController();
  const signal = AbortSignal.any([cli.signal, over.signal]);
  let failure: unknown;
  const keeping = keepGoing(folder, pool, cli, signal).catch((error: unknown) => {
    failure = error;
    over.abort(error);
  });
  let state: RunState | undefined;
  try {
    state = await watchRun({ ...cli, signal }, folder, options);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    over.abort();
    await keeping;
  }
  if (failure !== undefined && state?.endedAt === undefined) throw asFault(failure);
  return state ?? (await readRunState(folder));
}

const enter = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const leave = '\x1b[?7h\x1b[?25h\x1b[?1049l';
/** Even without a change: often enough for running clocks. */
const redrawMillis = 1000;

interface Screen {
  redraw(): void;
  /** Restores the terminal: its screen, cursor, line wrapping and keyboard. */
  close(): void;
}

/** Takes over the terminal for a view that is redrawn on demand, on a resize, and every second. */
function openScreen(
  cli: Cli,
  terminal: Terminal,
  { draw, onKey }: { draw: () => string[]; onKey: (key: string) => void },
): Screen {
  const redraw = () => {
    // Overwrites line by line, so that nothing flickers. Each line is cleared before it is written: after a full line
    // the cursor is still on its last character.
    const lines = draw();
    const text = lines.map((line, index) => `\x1b[${index + 1};1H\x1b[2K${line}`).join('');
    drawOut(cli, lines.length < terminal.size().rows ? `${text}\x1b[${lines.length + 1};1H\x1b[J` : text);
  };
  drawOut(cli, enter);
  const offKey = terminal.onKey(onKey);
  const offResize = terminal.onResize(redraw);
  const timer = setInterval(redraw, redrawMillis);
  return {
    redraw,
    close() {
      clearInterval(timer);
      offResize();
      offKey();
      drawOut(cli, leave);
    },
  };
}
