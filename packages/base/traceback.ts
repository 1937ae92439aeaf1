/** What the agent, PyTorch and torchrun write before a line of one process of several. */
const rankMark = /^(?:\[(?:rank ?|default)(\d+)\]:? ?)+/;
const fileLine = /^\s*File "(.+)", line (\d+)(, in .+)?$/;
const library = /\/(?:site|dist)-packages\/|\/lib\/python3[^/]*\/|^<frozen /;
const marks = /^\s*[~^]+\s*$/;

const header = /^\s*Traceback \(most recent call last\):/;
/** Between an exception and the one that it caused, or that came while it was handled. */
const chainLine =
  /^\s*(?:The above exception was the direct cause of|During handling of the above exception,) /;
/** How torchrun names the rank that failed first, below its own traceback. */
const rootCause = /^\s*Root Cause \(first observed failure\):/;

/** What a process says when another one has ended. */
const lostPeer =
  /Connection (?:closed|reset) by|Broken pipe|ncclRemoteError|NCCL communicator was aborted|Socket Timeout/i;

/** What torchrun logs of its processes. */
const launcherLine = /^[IWE]\d{4} \S+ \d+ torch\/distributed\/elastic\//;

const shownFrames = 3;
/** Some exceptions have messages of many lines. */
const shownMessage = 3;

/**
 * The end of the last Python traceback in a program's output: its last frames, then the exception. Of several ranks
 * it is that of the one that failed first, of chained exceptions the one that caused the others.
 */
export function lastTraceback(lines: readonly string[], rank?: number): string[] {
  const plain = ofFailingRank(lines, rank);
  const last = innermost(plain);
  if (last === -1) return [];
  let first = last;
  while (first > 0 && /^\s/.test(plain[first - 1] ?? '')) first -= 1;
  let end = last + 1;
  while (/^\s/.test(plain[end] ?? '')) end += 1;
  const raised = plain.slice(end, end + shownMessage);
  const blank = raised.findIndex((line) => line.trim() === '');
  const frames = framesOf(plain.slice(first, end));
  const own = frames.findLastIndex(isOwn);
  const from = Math.max(0, frames.length - shownFrames);
  const shown =
    own === -1 || own >= from ? frames.slice(from) : [frames[own] ?? [], ...frames.slice(from + 1)];
  const named = shown.flat().map((line) => line.replace(/(?<=^\s*File ")[^"]+/, shortPath));
  return [...named, ...raised.slice(0, blank === -1 ? undefined : blank)];
}

/** What rank 0 printed of a line; the agent's marks may be within one that it has not ended. */
export function ofRankZero(line: string): string {
  const own = line.split(/\[rank \d+\] /, 1)[0] ?? '';
  return Number(rankMark.exec(own)?.[1] ?? 0) === 0 ? own.replace(rankMark, '') : '';
}

/** How torchrun says that a process was killed. */
const killedLine = /^\s*traceback : (Signal \d+ .*)$/;

/** The lines of the rank that failed first, if it is known, without torchrun's own traceback and without marks. */
export function ofFailingRank(lines: readonly string[], failed?: number): string[] {
  const root = lines.findLastIndex((line) => rootCause.test(line));
  const named = lines.slice(root + 1).flatMap((line) => /^\s*rank\s*: (\d+)/.exec(line)?.[1] ?? [])[0];
  const end = root === -1 ? -1 : lines.findLastIndex((line, at) => at < root && header.test(line));
  const above = end === -1 ? lines : lines.slice(0, end);
  const printed = above.filter((line) => !launcherLine.test(line));
  const rankOf = (line: string): string | undefined => rankMark.exec(line)?.[1];
  const raised = printed.filter((line) => header.test(line.replace(rankMark, ''))).map(rankOf);
  const ranks = [...new Set(raised)].filter((rank) => rank !== undefined);
  const isOfAnother = (rank: string): boolean =>
    lostPeer.test(printed.findLast((line) => rankOf(line) === rank) ?? '');
  const first = ranks.find((rank) => !isOfAnother(rank)) ?? ranks[0];
  const found = printed.some((line) => rankOf(line) === named) ? named : first;
  const rank = failed === undefined ? found : String(failed);
  const own = rank === undefined ? printed : printed.filter((line) => (rankOf(line) ?? '0') === rank);
  const killed = lines.slice(root + 1).flatMap((line) => killedLine.exec(line)?.[1] ?? []);
  return [...own.map((line) => line.replace(rankMark, '')), ...killed];
}

/** The last frame of the exception that caused the others of the last chain; -1 if there is no traceback. */
function innermost(lines: readonly string[]): number {
  let last = lines.findLastIndex((line) => fileLine.test(line));
  for (;;) {
    const above = lines.findLastIndex((line, at) => at < last && header.test(line)) - 1;
    const chain = lines.findLastIndex((line, at) => at <= above && line.trim() !== '');
    const before = lines.findLastIndex((line, at) => at < chain && fileLine.test(line));
    if (!chainLine.test(lines[chain] ?? '') || before === -1) return last;
    last = before;
  }
}

/** Where the traceback begins that is in these last lines, with all that it followed from; -1 if there is none. */
export function tracebackFrom(lines: readonly string[], last: number): number {
  const isThere = lines.slice(-last).some((line) => fileLine.test(line));
  const end = isThere ? innermost(lines) : 0;
  return lines.findLastIndex((line, at) => at < end && header.test(line));
}

/** Where the program itself raised it, as `train.py, line 11`; a library's frame only if there is no other. */
export function raisedAt(lines: readonly string[]): string | undefined {
  const plain = ofFailingRank(lines);
  const frames = plain.slice(0, innermost(plain) + 1).filter((line) => fileLine.test(line));
  const frame = frames.findLast((line) => isOwn([line])) ?? frames.at(-1) ?? '';
  const [, file = '', number = ''] = fileLine.exec(frame) ?? [];
  return number === '' ? undefined : `${shortPath(file)}, line ${number}`;
}

/** The line with which that exception, or else the output, ends. */
export function lastSaid(lines: readonly string[]): string {
  const plain = ofFailingRank(lines);
  const from = innermost(plain);
  const chain = plain.findIndex((line, at) => at > from && chainLine.test(line));
  return plain.slice(0, chain === -1 ? undefined : chain).findLast((line) => line.trim() !== '') ?? '';
}

const isOwn = ([line = '']: readonly string[]): boolean => !library.test(fileLine.exec(line)?.[1] ?? '');

/** A frame is its `File` line and the code below it. */
function framesOf(lines: readonly string[]): string[][] {
  const frames: string[][] = [];
  for (const line of lines)
    if (fileLine.test(line)) frames.push([line]);
    else if (!marks.test(line) || !/, in /.test(frames.at(-1)?.[0] ?? '')) frames.at(-1)?.push(line);
  return frames;
}

/** Without the work folder or the library folder. */
const shortPath = (file: string): string =>
  file.replace(/^.*\/updraft-[^/]+\/work\//, '').replace(/^.*\/(?:site|dist)-packages\//, '');
