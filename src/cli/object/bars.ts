import { clip, pad } from '../../base/text-table.ts';
import { formatDuration, formatSize } from '../../job/units.ts';
import type { Glyphs } from '../text/glyphs.ts';

/** One transfer under way. */
export interface Work {
  name: string;
  bytes: number;
  total: number | undefined;
  /** Bytes per second. */
  rate: number;
  /** Who delivers now. */
  server: string;
}

/** How far all of them are together. */
export interface Tally {
  files: number;
  ended: number;
  endedBytes: number;
}

interface Frame {
  columns: number;
  rows: number;
  glyphs: Glyphs;
}

const barWidth = 20;
const nameWidth = 28;

/** A line for each transfer under way, and one for all of them if there are several. Pure. */
export function barLines(works: readonly Work[], tally: Tally, frame: Frame): string[] {
  const room = Math.max(1, frame.rows - 3);
  const lines = works.slice(0, room).map((work) => workLine(work, frame));
  const hidden = works.length - lines.length;
  if (hidden > 0) lines.push(`… and ${hidden} more`);
  if (tally.files > 1) lines.push(totalLine(works, tally));
  // One column is left free: some terminals break a line that is exactly as wide as they are.
  return lines.map((line) => clip(line, frame.columns - 1));
}

function workLine({ name, bytes, total, rate, server }: Work, { columns, glyphs }: Frame): string {
  const width = Math.min(nameWidth, Math.max(10, columns - 60));
  const share = total === undefined || total === 0 ? undefined : bytes / total;
  const bar = share === undefined ? ' '.repeat(barWidth) : drawBar(share, glyphs);
  const percent = share === undefined ? '' : `${Math.floor(share * 100)}%`;
  const size = total === undefined ? formatSize(bytes) : `${formatSize(bytes)} of ${formatSize(total)}`;
  const left = total === undefined ? '' : timeLeft(total - bytes, rate);
  const figures = [size, showRate(rate), left, server].filter((part) => part !== '').join('  ');
  return `${pad(clip(name, width), width)} ${bar} ${pad(percent, 4, 'right')}  ${figures}`;
}

function totalLine(works: readonly Work[], { files, ended, endedBytes }: Tally): string {
  const bytes = works.reduce((sum, work) => sum + work.bytes, endedBytes);
  const rate = works.reduce((sum, work) => sum + work.rate, 0);
  return `${ended} of ${files} files  ${formatSize(bytes)}  ${showRate(rate)}`;
}

function drawBar(share: number, glyphs: Glyphs): string {
  const done = Math.round(Math.min(1, share) * barWidth);
  return glyphs.done.repeat(done) + glyphs.idle.repeat(barWidth - done);
}

function timeLeft(bytes: number, rate: number): string {
  if (bytes <= 0) return '';
  // Below a kilobyte a second any figure would be a guess.
  return rate < 1000 ? '' : `${formatDuration(Math.ceil(bytes / rate))} left`;
}

/** `98 MB/s` */
export function showRate(bytesPerSecond: number): string {
  return `${formatSize(Math.round(bytesPerSecond))}/s`;
}
