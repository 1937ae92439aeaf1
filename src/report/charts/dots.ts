import { element, escapeMarkup } from './svg.ts';

interface Dot {
  x: number;
  y: number;
}

/** More dots than these are drawn as one shape without names, so that a page of 10,000 jobs stays small. */
const mostNamed = 500;

/** `name` tells what a dot is, shown when pointed at. */
export function dots(places: readonly Dot[], colour: string, name: (index: number) => string): string {
  if (places.length <= mostNamed)
    return places
      .map(({ x, y }, index) =>
        element(
          'circle',
          { cx: x, cy: y, r: 3, fill: colour, 'fill-opacity': 0.75 },
          element('title', {}, escapeMarkup(name(index))),
        ),
      )
      .join('');
  const d = places.map(({ x, y }) => `M${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}h0`).join('');
  return element('path', {
    d,
    stroke: colour,
    'stroke-width': 3,
    'stroke-linecap': 'round',
    'stroke-opacity': 0.6,
    fill: 'none',
  });
}
