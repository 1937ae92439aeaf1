import { columnLabels, type Column } from '../columns.ts';
import { element, label } from './svg.ts';

/** Columns that are often adjacent have colours that differ for the common kinds of colour blindness. */
export const palette: Record<Column, string> = {
  usefulCompute: '#009e73',
  usefulTransfer: '#56b4e9',
  unpacking: '#a6cee3',
  waitingForData: '#f0e442',
  saving: '#8da0cb',
  returning: '#0072b2',
  retriedTransfer: '#e69f00',
  lostToEviction: '#d55e00',
  lostToTimeLimit: '#cc79a7',
  lostToWrongOutput: '#882255',
  lostToFailure: '#aa4499',
  lostToRemoval: '#997700',
  suspended: '#bbaa55',
  overhead: '#888888',
  underWay: '#44bb99',
  unknown: '#aaaaaa',
  queued: '#dddddd',
  idle: '#c8c8c8',
  held: '#666666',
};

export const markColour = '#0072b2';
export const badColour = '#d55e00';

const lineHeight = 18;

/** Squares and labels for the columns in use, wrapped at `width`. */
export function chartLegend(
  used: readonly Column[],
  top: number,
  width: number,
): { markup: string; height: number } {
  let [x, y] = [8, top];
  const parts = used.map((column) => {
    const needed = 34 + columnLabels[column].length * 6.6;
    if (x > 8 && x + needed > width) [x, y] = [8, y + lineHeight];
    const part =
      element('rect', {
        x,
        y,
        width: 11,
        height: 11,
        fill: palette[column],
        stroke: 'currentColor',
        'stroke-opacity': 0.3,
      }) + label(x + 16, y + 10, columnLabels[column]);
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
