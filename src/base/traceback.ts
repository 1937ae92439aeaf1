const rank = /^\[rank\d+\]:\s?/;
const fileLine = /^\s*File "(.+)", line (\d+)(, in .+)?$/;
const library = /\/(?:site|dist)-packages\/|\/lib\/python3[^/]*\/|^<frozen /;
const marks = /^\s*[~^]+\s*$/;

const shownFrames = 3;
/** Some exceptions have messages of many lines. */
const shownMessage = 3;

/** The end of the last Python traceback in a program's output: its last frames, then the exception. */
export function lastTraceback(lines: readonly string[]): string[] {
  const plain = lines.map((line) => line.replace(rank, ''));
  const last = plain.findLastIndex((line) => fileLine.test(line));
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

/** Where the program itself raised it, as `train.py, line 11`; a library's frame only if there is no other. */
export function raisedAt(lines: readonly string[]): string | undefined {
  const frames = lines.map((line) => line.replace(rank, '')).filter((line) => fileLine.test(line));
  const frame = frames.findLast((line) => isOwn([line])) ?? frames.at(-1) ?? '';
  const [, file = '', number = ''] = fileLine.exec(frame) ?? [];
  return number === '' ? undefined : `${shortPath(file)}, line ${number}`;
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
