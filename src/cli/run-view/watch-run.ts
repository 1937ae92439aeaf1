import path from 'node:path';
import { printable, clip, pad, given } from '@updraft/base';
import { asFault, Fault } from '@updraft/account/fault';
import { jobLabel } from '@updraft/account/parameters';
import type { JobState, RunState } from '@updraft/account/journal';
import { runOnEnd } from '../../pool/on-end.ts';
import type { Pool } from '../../pool/pool.ts';
import { keepGoing } from '../../run/rounds.ts';
import { followRunStates, readRunState } from '../../run/run-states.ts';
import { drawOut, type Cli } from '../cli.ts';
import type { SubmittedRun } from '../submit/submit-plan.ts';
import { glyphsFor, type Glyphs } from '../text/glyphs.ts';
import type { Terminal } from '../text/terminal.ts';
import { removeUnneededSecrets, printTrouble, whileRefreshing } from './current-state.ts';
import {
  jobFigures,
  jobNotes,
  describeState,
  latestAttempt,
  placeOf,
  jobListing,
  shareDone,
} from '../../run/describe-job.ts';
import { styleText } from 'node:util';
import { fitTable, type FittedTable } from '@updraft/view/tables';
import { formatMillis } from '@updraft/view/format';

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
    id,
    status,
    state: describeState(job),
    outcome,
    parameters,
    attempt: attempt?.number,
    where: placeOf(job) || undefined,
    epoch,
    epochs,
    step,
    steps,
    metrics,
    best,
    held,
    fault: attempt?.fault ?? job.fault,
    stopRequested: stopRequested || undefined,
    results,
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
  return given(
    `${time}Z`,
    printable(jobLabel(job.id, job.name)),
    attempt !== undefined && `try ${attempt.number}`,
    describeState(job),
    place !== '' && `at ${printable(place)}`,
    detail !== '' && `(${detail})`,
  ).join(' ');
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

export interface Frame {
  columns: number;
  rows: number;
  now: number;
  color: boolean;
  glyphs: Glyphs;
  /** Shown at the right of the first line while the run is active. */
  hint: string;
}

/** A run as lines that fit the frame. Pure. */
export function liveView(state: RunState, frame: Frame): string[] {
  const head = [...heading(state, frame), ...troubleLines(state, frame), ...counts(state, frame), ''];
  const room = Math.max(1, frame.rows - head.length);
  return [...head, ...jobLines(state.jobs, frame, room)].slice(0, frame.rows);
}

function heading(state: RunState, { columns, now, hint }: Frame): string[] {
  const from = state.createdAt === undefined ? now : Date.parse(state.createdAt);
  const to = state.endedAt === undefined ? now : Date.parse(state.endedAt);
  const left = given(
    printable(state.run),
    `pool ${printable(state.pool)}`,
    formatMillis(Math.max(0, to - from)),
    state.stopRequested && state.endedAt === undefined && 'stopping',
  ).join(' · ');
  const right = state.endedAt === undefined ? hint : 'ended';
  return [clip(`${pad(clip(left, columns - right.length - 1), columns - right.length)}${right}`, columns)];
}

function troubleLines({ trouble }: RunState, { columns, color }: Frame): string[] {
  if (trouble === undefined) return [];
  const lines = [`! ${printable(trouble.message)}`, `  ${printable(trouble.fix)}`];
  return lines.map((line) => paint(clip(line, columns), 'yellow', color));
}

type Group = 'idle' | 'input' | 'run' | 'output' | 'done' | 'failed';

const phaseGroup: Record<string, Group> = {
  preparing: 'input',
  fetching: 'input',
  unpacking: 'input',
  training: 'run',
  saving: 'output',
  returning: 'output',
  cleaning: 'output',
  success: 'done',
  waiting: 'idle',
  queued: 'idle',
  'kept-back': 'idle',
  'at-rung': 'idle',
  unknown: 'idle',
};
const groupOf = (job: JobState): Group => phaseGroup[describeState(job)] ?? 'failed';

/** The columns and the bar of `condor_watch_q`. */
function counts(state: RunState, { columns, color, glyphs }: Frame): string[] {
  const groups = Map.groupBy(state.jobs, groupOf);
  const count = (group: Group) => groups.get(group)?.length ?? 0;
  const titles = ['idle', 'input', 'run', 'output', 'done', 'failed'] as const;
  const cell = (text: string, title: string) => pad(text, Math.max(5, title.length + 1), 'right');
  const total = String(state.jobs.length);
  const top = [...titles.map((title) => cell(title.toUpperCase(), title)), cell('TOTAL', 'total')].join(' ');
  const bottom = [...titles.map((title) => cell(String(count(title)), title)), cell(total, 'total')].join(
    ' ',
  );
  const room = Math.min(60, columns - bottom.length - 4);
  const active = count('input') + count('run') + count('output');
  const parts = [
    { mark: glyphs.done, jobs: count('done'), style: 'green' as const },
    { mark: glyphs.failed, jobs: count('failed'), style: 'red' as const },
    { mark: glyphs.running, jobs: active, style: 'cyan' as const },
    { mark: glyphs.idle, jobs: count('idle'), style: 'dim' as const },
  ];
  return [bold(clip(top, columns), color), `${clip(bottom, columns)}${segments(parts, room, color)}`];
}

type Style = 'green' | 'red' | 'cyan' | 'yellow' | 'dim' | 'bold';

/** Parts in proportion, rounded so that they fill the bar and no part vanishes. */
function segments(
  parts: readonly { mark: string; jobs: number; style: Style }[],
  room: number,
  color: boolean,
): string {
  if (room < 8) return '';
  const total = Math.max(
    1,
    parts.reduce((sum, { jobs }) => sum + jobs, 0),
  );
  const widths = parts.map(({ jobs }) => (jobs === 0 ? 0 : Math.max(1, Math.floor((jobs * room) / total))));
  const widest = widths.indexOf(Math.max(...widths));
  widths[widest] = (widths[widest] ?? 0) + room - widths.reduce((sum, width) => sum + width, 0);
  const bar = parts.map(({ mark, style }, index) =>
    paint(mark.repeat(Math.max(0, widths[index] ?? 0)), style, color),
  );
  return `  [${bar.join('')}]`;
}

/** Active jobs first, then failed, waiting, and done. */
const order: Record<Group, number> = { run: 0, output: 0, input: 0, failed: 1, idle: 2, done: 3 };

function jobLines(jobs: readonly JobState[], frame: Frame, room: number): string[] {
  const sorted = jobs.toSorted((a, b) => order[groupOf(a)] - order[groupOf(b)]);
  const shown = sorted.slice(0, room);
  const { head, rows, hidden } = tableOf(shown, frame);
  const left = hidden.length === 0 ? [] : [`Not shown at this width: ${hidden.join(', ')}.`];
  const all = head.length + rows.length + left.length <= room && shown.length === sorted.length;
  const count = all ? rows.length : Math.max(0, room - head.length - left.length - 1);
  const more = all ? [] : [`… and ${sorted.length - count} more: updraft status lists them all`];
  // Where the states are in a line.
  const at = Math.max(0, head.at(-1)?.lastIndexOf(' STATE') ?? 0) + 1;
  const line = (job: JobState, index: number): string => {
    const chars = Array.from(clip(rows[index] ?? '', frame.columns));
    const state = paint(
      chars.splice(at, describeState(job).length, '').join(''),
      styles[groupOf(job)],
      frame.color,
    );
    return chars.toSpliced(at, 1, state).join('').trimEnd();
  };
  return [
    ...head.map((text) => bold(clip(text, frame.columns), frame.color)),
    ...shown.slice(0, count).map(line),
    ...[...left, ...more].map((text) => clip(text, frame.columns)),
  ];
}

/** The bars are as wide as leaves room for every column, or gone; those of jobs that have all ended say nothing. */
function tableOf(jobs: readonly JobState[], { columns: width, now, glyphs }: Frame): FittedTable {
  const isActive = jobs.some(({ status }) => status !== 'ended');
  const fit = (bar: number): FittedTable => {
    const { columns, rows } = jobListing(jobs, now, (job) => (isActive ? progressBar(job, bar, glyphs) : ''));
    return fitTable(columns, rows, width);
  };
  const table = fit(width >= 120 ? 20 : 10);
  return table.hidden.length === 0 ? table : fit(0);
}

const styles: Record<Group, Style> = {
  idle: 'dim',
  input: 'cyan',
  run: 'cyan',
  output: 'cyan',
  done: 'green',
  failed: 'red',
};

function progressBar(job: JobState, width: number, glyphs: Glyphs): string {
  const attempt = latestAttempt(job);
  const running = job.status === 'running' && attempt !== undefined;
  const share = job.outcome === 'success' ? 1 : running ? shareDone(attempt) : undefined;
  if (share === undefined) return '';
  const full = Math.floor(share * width);
  const percent = pad(`${Math.floor(share * 100)} %`, 6, 'right');
  return glyphs.done.repeat(full) + glyphs.idle.repeat(width - full) + percent;
}

const bold = (text: string, color: boolean): string => paint(text, 'bold', color);

function paint(text: string, style: Style, color: boolean): string {
  return color && text !== '' ? styleText(style, text, { validateStream: false }) : text;
}
