import { heightAt } from '@updraft/account/report';
import { type DrawnLines, element, pathOf } from '@updraft/view/charts';
import { fromMarkup } from '@updraft/view/dom';

/** Farther away, the pointer means no line. */
const reach = 40;

export type PickableChart = ReturnType<typeof pickable>;

/** A picture of lines that can be asked which one is under the pointer; `coloured` ones are in front. */
export function pickable({ svg, lines }: DrawnLines, coloured: number) {
  const front = new Set([...lines.keys()].slice(0, coloured));
  const marks = ['path', 'circle'].map((kind) => element(kind, { class: 'picked', fill: 'none', r: 0 }));
  const chart = fromMarkup(svg.replace(/<\/svg>$/, `${marks.join('')}</svg>`));
  const [path, dot] = chart.querySelectorAll('.picked');
  return {
    element: chart,
    /** Draws a line in front, and marks a point of it; an empty id means none. */
    pick(id: string, point = NaN) {
      const line = lines.get(id) ?? [];
      path?.setAttribute('d', pathOf(line));
      const [cx, cy] = line.slice(2 * point, 2 * point + 2);
      for (const [name, value] of Object.entries({ cx, cy, r: cx === undefined ? 0 : 4 }))
        dot?.setAttribute(name, String(value ?? 0));
    },
    /** A line, and which of its points. */
    nearest(x: number, y: number): [id: string, point: number] | undefined {
      let [found, distance]: [string | undefined, number] = [undefined, reach];
      for (const [id, line] of lines) {
        // Of equally near ones, a line in front is the one that is seen.
        const away = distanceTo(line, x, y) - (front.has(id) ? 2 : 0);
        if (away < distance) [found, distance] = [id, away];
      }
      if (found === undefined) return undefined;
      const places = (lines.get(found) ?? []).filter((_, index) => index % 2 === 0);
      const away = places.map((place) => Math.abs(place - x));
      return [found, away.indexOf(Math.min(...away))];
    },
  };
}

/** How far above or below the line a place is; beside its ends, how far from them. */
function distanceTo(line: readonly number[], x: number, y: number): number {
  const there = heightAt(line, x);
  if (there !== undefined) return Math.abs(y - there);
  const [endX = Infinity, endY = 0] = x < (line[0] ?? 0) ? line : line.slice(-2);
  return Math.hypot(x - endX, y - endY);
}
