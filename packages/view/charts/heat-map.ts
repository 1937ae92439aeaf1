import { clip } from '@updraft/base';
import { markColour } from './palette.ts';
import { element, escapeMarkup, label, nameLabels, picture } from './svg.ts';

interface Cell {
  row: string;
  column: string;
  /** Decides the colour: the largest is full. */
  value: number;
  text: string;
  /** Drawn below the text. */
  small: string;
}

const cellHeight = 40;
const maxSide = 8;

/** A cell per row and column, the darker the larger its value. More rows and columns than fit are left out. */
export function heatMap(
  cells: readonly Cell[],
  { width = 720, left = 190, ...named }: { id?: string; title?: string; width?: number; left?: number },
): string {
  const firstOf = (names: string[]) => [...new Set(names)].slice(0, maxSide);
  const rows = firstOf(cells.map(({ row }) => row));
  const columns = firstOf(cells.map(({ column }) => column));
  const cellWidth = Math.min(130, (width - left - 8) / columns.length);
  const max = Math.max(...cells.map(({ value }) => value));
  const x = (column: string) => left + columns.indexOf(column) * cellWidth;
  const y = (row: string) => 24 + rows.indexOf(row) * cellHeight;
  const shown = cells.filter(({ row, column }) => rows.includes(row) && columns.includes(column));
  const letters = Math.floor(cellWidth / 7);
  const drawn = shown.map(({ row, column, value, text, small }) => {
    const strength = max > 0 ? 0.08 + 0.6 * (value / max) : 0.08;
    const place = { x: x(column) + 1, y: y(row) + 1, width: cellWidth - 2, height: cellHeight - 2 };
    const middle = { 'text-anchor': 'middle' };
    return (
      element(
        'rect',
        { ...place, fill: markColour, 'fill-opacity': String(strength) },
        element('title', {}, escapeMarkup(`${row}, ${column}: ${text}, ${small}`)),
      ) +
      label(x(column) + cellWidth / 2, y(row) + 17, clip(text, letters), middle) +
      label(x(column) + cellWidth / 2, y(row) + 32, clip(small, letters), { ...middle, 'font-size': 10 })
    );
  });
  const [{ draw: drawColumn }, { draw: drawRow }] = [
    nameLabels(letters, columns),
    nameLabels(Math.floor(left / 7.2), rows),
  ];
  const names = [
    ...columns.map((name) => drawColumn(x(name) + cellWidth / 2, 16, name, { 'text-anchor': 'middle' })),
    ...rows.map((name) => drawRow(left - 8, y(name) + 24, name, { 'text-anchor': 'end' })),
  ];
  const described = shown.map(({ row, column, text, small }) => `${row}, ${column}: ${text}, ${small}`);
  const height = 32 + rows.length * cellHeight;
  return picture({ ...named, description: described.join('; '), width, height }, ...names, ...drawn);
}
