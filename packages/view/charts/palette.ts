import { element, label } from './svg.ts';

export const markColour = '#0072b2';
export const badColour = '#d55e00';

/** What is measured, in the colour that it has in every chart. */
export interface ChartPart {
  label: string;
  colour: string;
}

const lineHeight = 18;

/** Squares and labels for the parts in use, wrapped at `width`. */
export function chartLegend(
  used: readonly ChartPart[],
  top: number,
  width: number,
): { markup: string; height: number } {
  let [x, y] = [8, top];
  const parts = used.map(({ label: words, colour }) => {
    const needed = 34 + words.length * 6.6;
    if (x > 8 && x + needed > width) [x, y] = [8, y + lineHeight];
    const part =
      element('rect', {
        x,
        y,
        width: 11,
        height: 11,
        fill: colour,
        'data-phase': words,
        stroke: 'currentColor',
        'stroke-opacity': 0.3,
      }) + label(x + 16, y + 10, words);
    x += needed;
    return part;
  });
  return { markup: parts.join(''), height: used.length === 0 ? 0 : y - top + lineHeight };
}

/** For groups in one chart, in the order of Okabe and Ito. */
export const groupColours = [
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#882255',
  '#666666',
];
