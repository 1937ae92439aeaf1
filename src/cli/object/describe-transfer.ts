import { clip, formatDuration, formatSize, pad, printable, given } from '@updraft/base';
import { describeLeftOut, describePreference } from '@updraft/account/codes';
import { formatMillis } from '@updraft/view/format';
import type { Fetched, FetchEvent, Verification } from '@updraft/pelican/transfer';
import type { Glyphs } from '../text/glyphs.ts';

const proofs: Record<Verification, string> = {
  manifest: 'verified: every chunk, with the manifest',
  digest: 'verified: digest',
  size: 'verified: size only',
  none: 'not verified: no server gave a size or digest',
};

/** How the bytes were verified; a warning if it is known which facts are `missing` for that. */
export const describeVerified = (verified: Verification, missing?: string[]): string =>
  missing === undefined
    ? proofs[verified]
    : `warning: ${verified === 'size' ? 'size only' : 'not verified'}, no server gave a ${missing.join(' or ')}`;

/** `1.2 GB in 3.1s (390 MB/s)`; the rate counts only the bytes that moved. */
export function describeAmount(bytes: number, seconds: number, moved = bytes): string {
  const speed = seconds > 0 && moved > 0 ? ` (${formatRate(moved / seconds)})` : '';
  return `${formatSize(bytes)} in ${formatMillis(seconds * 1000)}${speed}`;
}

/** `from a and b`, the one that sent most first; then which were not asked. */
export function describeServersUsed({ servers, leftOut = [] }: Pick<Fetched, 'servers' | 'leftOut'>): string {
  const hosts = servers
    .toSorted((a, b) => b.bytes - a.bytes)
    .map(
      ({ server, preferredBy: by }) => `${server}${by === undefined ? '' : ` (${describePreference(by)})`}`,
    );
  const others = leftOut.map((one) => `${one.server} (${describeLeftOut(one)})`);
  return given(
    hosts.length > 0 && `from ${hosts.join(' and ')}`,
    others.length > 0 && `not asked: ${others.join(', ')}`,
  ).join('; ');
}

type SetbackEvent = Exclude<FetchEvent, { kind: 'progress' }>;

/** Prints each distinct setback and wait of an object once; `name` is the object's name in it. */
export function setbackReporter(
  url: string,
  name: string,
  say: (line: string) => void,
): (event: SetbackEvent) => void {
  const reported = new Set<string>();
  const isFederated = !/^(?:[^:]*\+)?(?:https?|file):/i.test(url);
  return (event) => {
    const news = `${name}: ${describeSetback(event, isFederated)}`;
    if (!reported.has(news)) say(news);
    reported.add(news);
  };
}

/** Which server failed, why, and what happens next. */
function describeSetback(event: SetbackEvent, isFederated: boolean): string {
  const message = printable(event.fault.message).replace(/\.$/, '');
  const who = isOurs(event) || message.includes(event.server) ? '' : `${event.server}: `;
  return `${who}${message}; ${describeRemedy(event, isFederated)}`;
}

/** Our token has expired by its own date: the server was not asked. */
const isOurs = ({ fault, server }: SetbackEvent): boolean =>
  fault.kind === 'token-expired' && !fault.message.includes(server);

const untilTime = (until: number): string => `waiting until ${new Date(until).toTimeString().slice(0, 8)}`;

function describeRemedy(event: SetbackEvent, isFederated: boolean): string {
  const { server, fault } = event;
  if (event.kind === 'wait') return untilTime(event.until);
  if (server === 'director') return 'continuing with the servers it named before';
  if (fault.retryAfterSeconds !== undefined)
    return `not asking it for ${fault.retryAfterSeconds} s${isFederated ? '; asking others' : ''}`;
  const elsewhere = isFederated ? 'at another server' : 'again';
  const asking = isFederated ? 'asking another server' : 'asking again';
  switch (fault.kind) {
    case 'data-corrupt':
      return `fetching what is damaged ${isFederated ? 'from another server' : 'again'}`;
    case 'object-changed':
      return `the two versions are not mixed; ${asking}`;
    case 'token-expired':
      return isOurs(event) ? 'waiting for a new one' : asking;
    case 'object-missing':
    case 'servers-unreachable':
    case 'token-refused':
    case 'data-wrong':
      return asking;
    default:
      return `resuming ${elsewhere}`;
  }
}

/** One active transfer. */
export interface TransferProgress extends Omit<Extract<FetchEvent, { kind: 'progress' }>, 'kind'> {
  name: string;
}

/** The progress of all transfers together. */
export interface TransferCounts {
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

/** A line for each active transfer, and one for all of them if there are several. Pure. */
export function barLines(works: readonly TransferProgress[], tally: TransferCounts, frame: Frame): string[] {
  const room = Math.max(1, frame.rows - 3);
  const lines = works.slice(0, room).map((work) => workLine(work, frame));
  const hidden = works.length - lines.length;
  if (hidden > 0) lines.push(`… and ${hidden} more`);
  if (tally.files > 1) lines.push(totalLine(works, tally));
  // One column is left free: some terminals wrap a line of exactly their width.
  return lines.map((line) => clip(line, frame.columns - 1));
}

function workLine(
  { name, bytes, total, rate, server }: TransferProgress,
  { columns, glyphs }: Frame,
): string {
  const width = Math.min(nameWidth, Math.max(10, columns - 60));
  const share = total === undefined || total === 0 ? undefined : bytes / total;
  const bar = share === undefined ? ' '.repeat(barWidth) : drawBar(share, glyphs);
  const percent = share === undefined ? '' : `${Math.floor(share * 100)}%`;
  const size = total === undefined ? formatSize(bytes) : `${formatSize(bytes)} of ${formatSize(total)}`;
  const left = total === undefined ? '' : timeLeft(total - bytes, rate);
  const figures = [size, formatRate(rate), left, server].filter((part) => part !== '').join('  ');
  return `${pad(clip(name, width), width)} ${bar} ${pad(percent, 4, 'right')}  ${figures}`;
}

function totalLine(works: readonly TransferProgress[], { files, ended, endedBytes }: TransferCounts): string {
  const bytes = works.reduce((sum, work) => sum + work.bytes, endedBytes);
  const rate = works.reduce((sum, work) => sum + work.rate, 0);
  return `${ended} of ${files} files  ${formatSize(bytes)}  ${formatRate(rate)}`;
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
export const formatRate = (bytesPerSecond: number): string => `${formatSize(Math.round(bytesPerSecond))}/s`;
