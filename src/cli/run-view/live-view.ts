import { styleText } from 'node:util';
import { clip, pad, printable } from '@updraft/base';
import { fitTable, type FittedTable } from '@updraft/view/tables';
import type { JobState, RunState } from '@updraft/account/journal';
import { formatMillis } from '@updraft/view/format';
import type { Glyphs } from '../text/glyphs.ts';
import { describeState, jobListing, latestAttempt, shareDone } from './describe-job.ts';

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
  const left = [
    printable(state.run),
    `pool ${printable(state.pool)}`,
    formatMillis(Math.max(0, to - from)),
    ...(state.stopRequested && state.endedAt === undefined ? ['stopping'] : []),
  ].join(' · ');
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
