import { svg } from '@updraft/view/dom';

/** Pixels of a line: x, y, x, y … from left to right. */
export type PixelLine = readonly number[];

/** A picture of lines, one per job, that can be asked which one is under the pointer. */
export interface LineChart {
  element: SVGSVGElement;
  nearest: (x: number, y: number) => string | undefined;
  /** Draws a job's line in front; an empty id means none. */
  pick: (id: string) => void;
}

/** Farther away, the pointer means no line. */
const reach = 40;

/** The lines of all jobs over each other: the best in colour and in front, the rest grey, as one element. */
export function lineLayer(lines: ReadonlyMap<string, PixelLine>, best: readonly string[]) {
  const inFront = new Set(best);
  const rest = [...lines].filter(([id]) => !inFront.has(id));
  const picked = svg('path', { class: 'picked' });
  const element = svg(
    'g',
    { class: 'lines' },
    svg('path', { d: rest.map(([, line]) => pathOf(line)).join('') }),
    ...best.map((id, rank) => svg('path', { d: pathOf(lines.get(id) ?? []), 'data-rank': rank })).reverse(),
    picked,
  );
  return {
    element,
    pick: (id: string) => picked.setAttribute('d', pathOf(lines.get(id) ?? [])),
    nearest: (x: number, y: number): string | undefined => {
      let [found, distance]: [string | undefined, number] = [undefined, reach];
      for (const [id, line] of lines) {
        // Of equally near ones, a line in front is the one that is seen.
        const away = distanceTo(line, x, y) - (inFront.has(id) ? 2 : 0);
        if (away < distance) [found, distance] = [id, away];
      }
      return found;
    },
  };
}

/** A line of one point is a dot: its ends are round. */
function pathOf(line: PixelLine): string {
  if (line.length === 0) return '';
  const places = [];
  for (let index = 0; index < line.length; index += 2)
    places.push(`${(line[index] ?? 0).toFixed(1)} ${(line[index + 1] ?? 0).toFixed(1)}`);
  return `M${places.join('L')}${places.length === 1 ? 'h.1' : ''}`;
}

/** How far above or below the line a place is; beside its ends, how far from them. */
function distanceTo(line: PixelLine, x: number, y: number): number {
  let [low, high] = [0, line.length / 2 - 1];
  const at = (index: number): [number, number] => [line[2 * index] ?? 0, line[2 * index + 1] ?? 0];
  if (high < 0) return Infinity;
  const [[firstX, firstY], [lastX, lastY]] = [at(low), at(high)];
  if (x <= firstX) return Math.hypot(x - firstX, y - firstY);
  if (x >= lastX) return Math.hypot(x - lastX, y - lastY);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (at(middle)[0] <= x) low = middle;
    else high = middle;
  }
  const [[x1, y1], [x2, y2]] = [at(low), at(high)];
  return Math.abs(y - (x2 === x1 ? y2 : y1 + ((y2 - y1) * (x - x1)) / (x2 - x1)));
}
