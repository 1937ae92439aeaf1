import { meanLine, smoothed } from '@updraft/account/report';
import { counted } from '@updraft/base';
import type { CurveX, MetricCurves } from './page-data.ts';
import { type Measured, directionOf } from './row-order.ts';
import {
  type DrawnLines,
  type Line,
  lineChart,
  linearScale,
  logScale,
  shortNumber,
  timeUnit,
} from '@updraft/view/charts';

/** How the reader wants to see curves. */
export interface CurveView {
  unit: CurveX;
  isLog: boolean;
  /** From 0 to below 1. */
  smoothing: number;
}

interface Group {
  /** The legend has its name. */
  row: { id: string; name?: string };
  members: readonly { id: string }[];
}

interface Curves {
  drawn: DrawnLines;
  lines: readonly Line[];
}

/** Lines in colour; more cannot be distinguished. */
export const inColour = 8;

/** One metric of all groups over each other; the first `coloured` ones are in colour. */
export function curveChart(
  { metric, units, curves }: MetricCurves,
  measured: Measured,
  groups: readonly Group[],
  coloured: number,
  { unit, isLog, smoothing }: CurveView,
  plot: { width: number; height: number; id?: string; title?: string; hasLegend?: true },
): Curves {
  const at = Math.max(0, units.indexOf(unit));
  const lineOf = (id: string): number[] => {
    const { x = [], y = [] } = curves[id] ?? {};
    return smoothed(
      y.flatMap((value, index) => [x[at]?.[index] ?? NaN, value]),
      smoothing,
    );
  };
  const lines = groups.map(({ row, members }): Line => {
    const all = members.map(({ id }) => lineOf(id)).filter(({ length }) => length > 0);
    const line = all.length > 1 ? meanLine(all) : { points: all[0] ?? [] };
    return { ...row, ...line };
  });
  const { x, y } = rangesOf(lines);
  const name = units[at] ?? unit;
  const jobs = groups.reduce(
    (sum, { members }) => sum + members.filter(({ id }) => curves[id] !== undefined).length,
    0,
  );
  const [end, low, high] = [x[1], ...y].map(shortNumber);
  const description = `${metric} of ${counted(jobs, 'job')} over ${end} ${name}, from ${low} to ${high}`;
  const drawn = lineChart(lines, {
    ...plot,
    description,
    ...axesOf(x, y, name, directionOf(measured), isLog),
    coloured,
  });
  return { drawn, lines };
}

type Range = [low: number, high: number];

/** A training begins at 0, whatever is reported first. */
const axesOf = ([, end]: Range, [low, high]: Range, unit: CurveX, metric: string, isLog: boolean) => ({
  x: {
    scale: linearScale(0, end > 0 ? end : 1, unit === 'time' ? timeUnit(end) : undefined),
    name: unit === 'time' ? 'since the first report' : unit,
  },
  y: { scale: isLog && low > 0 ? logScale(low, high) : linearScale(low, high), name: metric },
});

function rangesOf(lines: readonly Line[]): { x: Range; y: Range } {
  const range = (odd: 0 | 1): Range => {
    let [low, high] = [Infinity, -Infinity];
    for (const { points, band = points } of lines)
      for (let index = odd; index < band.length; index += 2) {
        const value = band[index] ?? 0;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    return low > high ? [0, 1] : [low, high];
  };
  return { x: range(0), y: range(1) };
}
