import { given } from '@updraft/base';
import { columnLabels, slotColumns, sumOver } from '../columns.ts';
import { formatHours, formatSeconds } from '@updraft/view/format';
import type { ComparedGroup, GroupedReport } from '../grouped-report.ts';
import { groupCells } from '../group-section.ts';
import { type Section, sectionTable } from '@updraft/view/document';
import { type Interval, minOrdered } from '../../statistics/intervals.ts';
import type { GroupValues, MeasuredGroups } from './comparison.ts';
import { measureNamed } from './measures.ts';

/** With more groups than this, only the first are shown. */
const maxGroups = 20;
/** More groups side by side are not read. */
const maxSideBySide = 6;

/** What `compare` shows, and `report --by` after its own table. */
export function comparisonSections(report: GroupedReport, all: boolean): Section[] {
  const ordered = inOrder(report);
  const shown = all ? ordered : ordered.slice(0, maxGroups);
  const hidden = report.groups.length - shown.length;
  const names = new Set(shown.map(({ name }) => name));
  const measured = report.measures.map((one) =>
    measureSection(report, one, (group) => names.has(group.name) && group.n > 0),
  );
  // Without any valid result there is no time to one.
  const hasValid = shown.some(({ valid }) => valid > 0);
  return [costSection(report, shown, hidden), ...measured.filter(({ rows }) => rows.length > 0 || hasValid)];
}

/** As they first appear, which is the order of the matrix or of the command line. */
const inOrder = ({ groups, completion }: GroupedReport): ComparedGroup[] =>
  completion.flatMap(({ name }) => groups.filter((group) => group.name === name));

function costSection(report: GroupedReport, shown: readonly ComparedGroup[], hidden: number): Section {
  const { title, titles, isByJob } = report;
  const cellsOf = groupCells(report);
  const rows = shown.map((group) => [
    ...cellsOf(group),
    group.n,
    group.valid,
    group.slotSecondsPerValid === null ? '-' : formatHours(group.slotSecondsPerValid),
    intervalText(group.slotSecondsPerValidInterval, formatHours),
    group.gpuSecondsPerValid === null ? '' : formatHours(group.gpuSecondsPerValid),
    formatHours(group.slotTotalSeconds),
  ]);
  const head =
    `${titles.join(' | ')} | ${isByJob ? 'jobs' : 'attempts'}> | valid> | slot time per valid> | 95 % interval> | ` +
    'GPU time per valid> | on slots>';
  const after = given(
    'All slot time, of failures too, over the number of valid results.',
    hidden > 0 && `${hidden} more: --all shows them.`,
  );
  return sectionTable('cost', `What a valid result costs, by ${title}`, head, rows, { after });
}

function measureSection(
  report: GroupedReport,
  { name, title, groups, said, test }: MeasuredGroups,
  isShown: (group: GroupValues) => boolean,
): Section {
  const { show } = measureNamed(name);
  const cellsOf = groupCells(report);
  const text = (value: number | null) => (value === null ? '' : show(value));
  const rows = groups
    .filter(isShown)
    .map((group) => [
      ...cellsOf(group),
      group.n,
      text(group.median),
      intervalText(group.interval, show),
      text(group.mean),
      text(group.p95),
      group.q1 === null || group.q3 === null ? '' : show(group.q3 - group.q1),
    ]);
  const head = `${report.titles.join(' | ')} | n> | median> | 95 % interval> | mean> | p95> | IQR>`;
  const tested = test === null ? [] : [`${test.name} test, ${test.method}.`];
  const how = groups.some((group) => isShown(group) && group.interval !== null)
    ? [`Intervals are of the median; with fewer than ${minOrdered} values, of the mean (Student's t).`]
    : [];
  return sectionTable(`measure-${name}`, `${title}, by ${report.title}`, head, rows, {
    after: [...said, [...tested, ...how].join(' ')].filter((text) => text !== ''),
  });
}

const intervalText = (interval: Interval | null, show: (value: number) => string): string =>
  interval === null ? '' : interval.map((end) => (Number.isFinite(end) ? show(end) : '∞')).join(' to ');

/** Where the time on slots went, per job, of a few groups side by side. */
export function sideBySideSection(report: GroupedReport): Section[] {
  const groups = inOrder(report);
  if (groups.length > maxSideBySide) return [];
  const used = slotColumns.filter((column) => groups.some(({ slotSeconds }) => slotSeconds[column] > 0));
  const each = (group: ComparedGroup, seconds: number) =>
    group.n === 0 || seconds === 0 ? '-' : formatSeconds(seconds / group.n);
  const cellsOf = groupCells(report);
  const rows = groups.map((group) => [
    ...cellsOf(group),
    ...[...used.map((column) => group.slotSeconds[column]), sumOver(group.slotSeconds, slotColumns)].map(
      (seconds) => each(group, seconds),
    ),
  ]);
  const title = `Where the time on slots went, per ${report.isByJob ? 'job' : 'attempt'}`;
  const head = [...report.titles, ...used.map((column) => `${columnLabels[column]}>`), 'all>'].join(' | ');
  const section = sectionTable('time', title, head, rows);
  return [{ ...section, columns: section.columns.with(-1, { title: 'all', align: 'right', rank: 0 }) }];
}
