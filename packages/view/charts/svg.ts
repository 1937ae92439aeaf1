import { printable, printableLines, widthOf } from '@updraft/base';
import { fitNames } from '../tables/fit-table.ts';

const marks: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes text for HTML and SVG, also inside attributes. */
export const escapeMarkup = (text: string): string => escapeMarks(printable(text));

/** The same for several lines, whose spaces stay. */
export const escapeLines = (text: string): string => escapeMarks(printableLines(text));

const escapeMarks = (text: string): string => text.replaceAll(/[&<>"']/g, (mark) => marks[mark] ?? mark);

export type Attributes = Record<string, string | number | undefined>;

/** `children` are markup, already escaped. */
export function element(name: string, attributes: Attributes, ...children: string[]): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) => ` ${key}="${escapeMarkup(typeof value === 'number' ? short(value) : (value ?? ''))}"`,
    )
    .join('');
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('')}</${name}>`;
}

/** Tenths of a pixel are enough. */
const short = (value: number): string => String(Math.round(value * 10) / 10);

export const label = (x: number, y: number, text: string, attributes: Attributes = {}): string =>
  element('text', { x, y, fill: 'currentColor', ...attributes }, escapeMarkup(text));

/** Draws these names in at most `width` characters: different ones stay different, and are tooltips in full. */
export function nameLabels(width: number, names: readonly string[]) {
  const texts = fitNames(names, width);
  return (x: number, y: number, name: string, attributes: Attributes = {}): string => {
    const short = texts[names.indexOf(name)] ?? name;
    const title = short === name ? '' : element('title', {}, escapeMarkup(name));
    return element('text', { x, y, fill: 'currentColor', ...attributes }, title, escapeMarkup(short));
  };
}

interface Picture {
  /** For screen readers: what is drawn. The page says what it is about. */
  description: string;
  width: number;
  height: number;
}

/** Labelled for screen readers; takes its text colour from the page. */
export function picture({ description, width, height }: Picture, ...content: string[]): string {
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  const named = { role: 'img', 'aria-label': description };
  const font = { 'font-family': 'system-ui, sans-serif', 'font-size': 12 };
  return element('svg', { xmlns: 'http://www.w3.org/2000/svg', ...size, ...named, ...font }, ...content);
}

interface Dot {
  x: number;
  y: number;
}

/** More dots are drawn as one shape without names, to keep a page of 10,000 jobs small. */
const maxNamed = 500;

/** `name` is shown as a tooltip. */
export function dots(places: readonly Dot[], colour: string, name: (index: number) => string): string {
  if (places.length <= maxNamed)
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

/** The room for names left of bars, and what draws one there. */
export function nameRoom(names: readonly string[]) {
  const longest = names.reduce((most, name) => Math.max(most, widthOf(name)), 0);
  const [left, chars] = longest > 24 ? [300, 40] : longest > 16 ? [190, 24] : [120, 16];
  const label = nameLabels(chars, names);
  return { left, draw: (y: number, name: string) => label(left - 8, y, name, { 'text-anchor': 'end' }) };
}
