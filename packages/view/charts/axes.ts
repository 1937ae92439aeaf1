import type { Scale } from './scale.ts';
import { element, label } from './svg.ts';

/** In pixels, around what is drawn. */
export interface Edges {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Pixels of values along a scale. */
export const across =
  ({ left, right }: Edges, { place }: Scale) =>
  (value: number): number =>
    left + place(value) * (right - left);
export const upwards =
  ({ top, bottom }: Edges, { place }: Scale) =>
  (value: number): number =>
    bottom - place(value) * (bottom - top);

/** Labels, and the name of the axis below; with grid lines if there are no others. */
export function horizontalAxis(scale: Scale, edges: Edges, name: string, hasGrid = true): string {
  const { left, right, top, bottom } = edges;
  const middle = { 'text-anchor': 'middle' };
  const ticks = scale.ticks.map(({ at, label: text }) => {
    const x = left + at * (right - left);
    return (hasGrid ? gridLine(x, top, x, bottom) : '') + label(x, bottom + 16, text, middle);
  });
  return ticks.join('') + label((left + right) / 2, bottom + 34, titleOf(name, scale), middle);
}

/** Grid lines, with labels on the left and the name of the axis above. */
export function verticalAxis(scale: Scale, { left, right, top, bottom }: Edges, name: string): string {
  const ticks = scale.ticks.map(({ at, label: text }) => {
    const y = bottom - at * (bottom - top);
    return gridLine(left, y, right, y) + label(left - 6, y + 4, text, { 'text-anchor': 'end' });
  });
  return ticks.join('') + label(4, top - 10, titleOf(name, scale), { class: 'name' });
}

const titleOf = (name: string, { unit }: Scale): string => (unit === '' ? name : `${name} (${unit})`);

const gridLine = (x1: number, y1: number, x2: number, y2: number): string =>
  element('line', { x1, y1, x2, y2, class: 'grid', stroke: 'currentColor', 'stroke-opacity': 0.2 });
