import { lineChart, linearScale, stripChart, timeUnit } from '@updraft/view/charts';
import { formatSeconds, formatShare } from '@updraft/view/format';
import type { GroupedReport } from '../grouped-report.ts';
import { strip } from '../report-charts.ts';
import type { Chart } from '@updraft/view/document';
import type { GroupCurve, MeasuredGroups } from './comparison.ts';
import { measureNamed } from './measures.ts';

/** A chart with the name of its file. */
export interface FileChart extends Chart {
  file: string;
}

/** The values of each measure as dots and boxes, and the completion curves. */
export function comparisonCharts(report: GroupedReport): FileChart[] {
  const { measures, completion, isByJob, title } = report;
  const values = measures.flatMap((measured) => valuesChart(measured, title));
  if (completion.every(({ points }) => points.length === 0)) return values;
  const svg = completionCurves(completion, isByJob ? 'since the first match' : 'on the slot');
  const heading = `Valid results over time, by ${title}`;
  return [{ file: 'completion.svg', section: 'cost', title: heading, svg }, ...values];
}

/** A chart of more groups is not read; tables have them all. */
const maxStrips = 60;

function valuesChart({ name, title, groups }: MeasuredGroups, by: string): FileChart[] {
  const values = groups.flatMap((group) => group.values);
  if (values.length === 0) return [];
  const { show, unit } = measureNamed(name);
  const strips = groups.map(({ name, values }) =>
    strip(
      name,
      values.map((value) => ({ name, value })),
    ),
  );
  const min = values.reduce((least, value) => Math.min(least, value));
  const max = values.reduce((most, value) => Math.max(most, value));
  // Metrics such as an accuracy between 0.91 and 0.93 would be one dot on an axis from 0.
  const from = min < 0 || (min > max / 2 && unit(max).name === '') ? min : 0;
  const heading = `${title}, by ${by}`;
  const axis = title.toLowerCase();
  const svg = stripChart(strips, { axis, unit, show, from, max: maxStrips });
  return [{ file: `${slug(name)}.svg`, section: `measure-${name}`, title: heading, svg }];
}

const slug = (name: string): string => name.replaceAll(/[^\w.-]+/g, '-');

/** Curves beyond these would have the colour of one that is drawn. */
const maxCurves = 32;

/** A step curve per group: the share with a valid result over time. A tick is a job that had not ended. */
export function completionCurves(all: readonly GroupCurve[], axis: string): string {
  const times = all.flatMap(({ points, censoredSeconds }) => [
    ...points.map(({ seconds }) => seconds),
    ...censoredSeconds,
  ]);
  const max = times.reduce((longest, time) => Math.max(longest, time), 0);
  const lines = all.map(({ name, points, censoredSeconds }) => {
    const shareAt = (time: number): number => points.findLast(({ seconds }) => seconds <= time)?.share ?? 0;
    const steps = points.flatMap(({ seconds, share }, at) => [
      seconds,
      points[at - 1]?.share ?? 0,
      seconds,
      share,
    ]);
    const last = points.at(-1)?.share ?? 0;
    return {
      id: name,
      name,
      value: formatShare(last),
      points: [0, 0, ...steps, max, last],
      ticks: censoredSeconds.flatMap((time) => [time, shareAt(time)]),
    };
  });
  return lineChart(lines, {
    description: all.map(describeCurve).join('; '),
    width: 720,
    height: 310,
    x: { scale: linearScale(0, max, timeUnit(max), true), name: axis },
    y: { scale: linearScale(0, 1, { name: '%', size: 0.01 }, true), name: 'with a valid result' },
    coloured: maxCurves,
    hasLegend: true,
  }).svg;
}

function describeCurve({ name, points }: GroupCurve): string {
  const half = points.find(({ share }) => share >= 0.5);
  const when = half === undefined ? '' : `, half after ${formatSeconds(half.seconds)}`;
  return `${name}: ${formatShare(points.at(-1)?.share ?? 0)}${when}`;
}
