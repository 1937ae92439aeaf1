import { styleText } from 'node:util';
import { printable } from '../../base/printable.ts';
import { fitNames } from '../../base/fit-table.ts';
import { clip, pad, widthOf } from '../../base/text-table.ts';
import { jobLabel } from '../../job/describe-parameters.ts';
import type { JobState, RunState } from '../../journal/state.ts';
import { formatMillis } from '../../report/format.ts';
import type { Glyphs } from '../text/glyphs.ts';
import {
  jobFigures,
  jobNotes,
  describeState,
  latestAttempt,
  displaySite,
  shareDone,
} from './describe-job.ts';

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
  const all = sorted.length + 1 <= room;
  const shown = all ? sorted : sorted.slice(0, Math.max(0, room - 2));
  // A job keeps its name when others leave the screen.
  const names = fitNames(sorted.slice(0, Math.max(maxNamed, shown.length)).map(nameOf), nameRoom(frame));
  const widths = {
    id: Math.max(3, ...names.map(widthOf)),
    bar: frame.columns >= 120 ? 20 : frame.columns >= 72 ? 10 : 0,
    place: frame.columns >= 110 ? placeWidth(shown) : 0,
  };
  const title = [
    pad('JOB', widths.id),
    'TRY',
    pad('STATE', 12),
    pad('', widths.bar + 6),
    ...(widths.place > 0 ? [pad('WHERE', widths.place)] : []),
  ].join(' ');
  const more = all ? [] : [`… and ${sorted.length - shown.length} more: updraft status lists them all`];
  return [
    bold(clip(title.trimEnd(), frame.columns), frame.color),
    ...shown.map((job, at) => jobLine(job, names[at] ?? '', widths, frame)),
    ...more.map((line) => clip(line, frame.columns)),
  ];
}

const nameOf = ({ id, name }: JobState): string => printable(jobLabel(id, name));

/** Names are made with every change: those of more jobs than this would take too long. */
const maxNamed = 1000;

/** A narrow screen needs its room for the state. */
const nameRoom = ({ columns }: Frame): number => Math.max(20, Math.floor(columns * 0.3));

const placeWidth = (jobs: readonly JobState[]): number =>
  Math.min(24, Math.max(5, ...jobs.map((job) => displaySite(latestAttempt(job)).length)));

function jobLine(
  job: JobState,
  name: string,
  widths: { id: number; bar: number; place: number },
  { columns, now, color, glyphs }: Frame,
): string {
  const word = describeState(job);
  const attempt = latestAttempt(job);
  const running = job.status === 'running' && attempt !== undefined;
  const share = word === 'success' ? 1 : running ? shareDone(attempt) : undefined;
  const start = [pad(name, widths.id), pad(String(attempt?.attempt ?? ''), 3, 'right'), ''].join(' ');
  const bar = share === undefined ? pad('', widths.bar + 6) : progressBar(share, widths.bar, glyphs);
  const place =
    widths.place > 0 ? ` ${pad(clip(printable(displaySite(attempt)), widths.place), widths.place)}` : '';
  const used = start.length + 13 + widths.bar + 6 + (widths.place > 0 ? widths.place + 1 : 0) + 1;
  // Without its own column, the site follows the epoch, or fills the room that a transfer's figures leave.
  const site = widths.place > 0 || !running ? undefined : (attempt.agent?.site ?? attempt.pool?.site);
  const [figures, notes] = [jobFigures(job), jobNotes(job, now)];
  // A narrow screen cuts the end: the time left matters more than loss and accuracy.
  const first = figures.splice(0, word === 'training' ? 1 : figures.length);
  const words = [...first, ...notes.splice(0, 1), ...figures, ...notes];
  if (site !== undefined) words.splice(word === 'training' ? 1 : words.length, 0, printable(site));
  const detail = clip(words.join('  '), columns - used);
  const state = paint(pad(word, 13), styles[groupOf(job)], color);
  return clipPlain(`${start}${state}${bar}${place} ${detail}`, columns, used);
}

/** A screen too narrow even for the fixed part gets what fits, without colours. */
function clipPlain(line: string, columns: number, used: number): string {
  if (columns >= used) return line.trimEnd();
  return clip(line.replaceAll(/\x1b\[\d+m/g, ''), columns).trimEnd();
}

const styles: Record<Group, Style> = {
  idle: 'dim',
  input: 'cyan',
  run: 'cyan',
  output: 'cyan',
  done: 'green',
  failed: 'red',
};

function progressBar(share: number, width: number, glyphs: Glyphs): string {
  const full = Math.floor(share * width);
  const percent = pad(`${Math.floor(share * 100)} %`, 6, 'right');
  return glyphs.done.repeat(full) + glyphs.idle.repeat(width - full) + percent;
}

const bold = (text: string, color: boolean): string => paint(text, 'bold', color);

function paint(text: string, style: Style, color: boolean): string {
  return color && text !== '' ? styleText(style, text, { validateStream: false }) : text;
}
