import { counted, given } from '@updraft/base';
import { type Cause, causeInfo } from '../codes/causes.ts';
import { speedFigures, speedNames } from '../history/speeds.ts';
import { formatBytesPerSecond, formatHours, formatSeconds, formatShare } from '@updraft/view/format';
import type { GroupedReport } from './grouped-report.ts';
import type { GroupReport } from './groups.ts';
import type { LogReport } from './log-report.ts';
import { shortLogNames } from './job-names.ts';
import { type Section, sectionTable } from '@updraft/view/document';

/** With more groups than this, only those with the largest loss are shown. */
const maxGroups = 20;
/** The main causes of the first few groups are explained. */
const maxExplained = 3;

/** The table of any groups; `column` is the title of their names, or there is one of each of their values. */
export function groupSection(
  { id, title, column }: { id: string; title: string; column: string | readonly string[] },
  groups: readonly (GroupReport & { values?: readonly string[] })[],
  all: boolean,
  more: Pick<Section, 'bars' | 'after'> = {},
): Section {
  const shown = all ? groups : groups.slice(0, maxGroups);
  const left = groups.length - shown.length;
  const isStarved = shown.some(({ slotSeconds }) => slotSeconds.waitingForData > 0);
  const speeds = speedNames.filter((name) => shown.some((group) => group[name] !== null));
  const extra = given(
    isStarved && 'waiting for data',
    ...speeds.map((name) => speedFigures[name].title),
    'rate',
  );
  const head = [
    ...[column].flat(),
    'jobs> | attempts> | good> | lost> | useful> | mostly | on slots> | median compute> | median transfer>',
    ...extra.map((name) => `${name}>`),
  ].join(' | ');
  const isRated = shown.some(({ transferBytesPerSecond: rate }) => rate !== null);
  const rows = shown.map((group) =>
    given<string | number>(
      ...(group.values ?? [group.name]),
      group.jobs,
      group.attempts,
      group.success,
      formatHours(group.lostSeconds),
      formatShare(group.usefulShare),
      group.cause ?? '',
      formatHours(group.slotTotalSeconds),
      formatSeconds(group.computeMedianSeconds),
      formatSeconds(group.transferMedianSeconds),
      isStarved && formatHours(group.slotSeconds.waitingForData),
      ...speeds.map((name) => speedFigures[name].show(group[name])),
      isRated ? formatBytesPerSecond(group.transferBytesPerSecond) : '',
    ),
  );
  const hidden = left > 0 ? [`${left} more with a smaller loss: --all shows them.`] : [];
  return sectionTable(id, title, head, rows, { ...more, after: [...hidden, ...(more.after ?? [])] });
}

/** The cells that name a group: the value of each of the `titles`. */
export function groupCells({ by, logs, groups }: GroupedReport): (group: { name: string }) => string[] {
  const short = by === 'log' || by === 'run' ? shortLogNames(logs) : String;
  const cells = new Map(groups.map(({ name, values }) => [name, values.map(short)]));
  return ({ name }) => cells.get(name) ?? [name];
}

const isToExplain = (cause: Cause | null): cause is Cause =>
  cause !== null && causeInfo(cause).change !== 'nothing';

/** What `report --by` shows: the groups, all of them together, and advice on what costs the worst ones most. */
export function groupedSection(report: GroupedReport, all: boolean): Section {
  const { groups, remedies, lostSeconds, title } = report;
  const cellsOf = groupCells(report);
  const shown = groups.map((group) => ({ ...group, values: cellsOf(group) }));
  const causes = new Set(
    groups.slice(0, maxExplained).flatMap(({ cause }) => (isToExplain(cause) ? [cause] : [])),
  );
  const together = [
    counted(report.jobs, 'job'),
    counted(report.attempts, 'attempt'),
    `${formatHours(report.slotTotalSeconds)} on slots`,
    `${formatHours(lostSeconds)} lost`,
  ];
  return groupSection({ id: 'groups', title: `Lost time by ${title}`, column: report.titles }, shown, all, {
    ...(lostSeconds > 0 && { bars: groups.map((group) => group.lostSeconds / lostSeconds) }),
    after: [
      `All: ${together.join(', ')}.`,
      ...[...causes].map((cause) => `${cause}: ${remedies[cause] ?? ''}`),
    ],
  });
}

/** What slots with each GPU at each site gave; the next round's are ranked by it. */
export function placeSection({ places = [] }: LogReport): Section {
  const speeds = speedNames.filter((name) => places.some((group) => group[name] !== null));
  const titles = speeds.map((name) => `${speedFigures[name].title}>`);
  const head = ['model | site | attempts> | worth> | useful>', ...titles, 'waiting for data> | rate>'].join(
    ' | ',
  );
  const rows = places.map((one) => [
    ...[...one.values, one.attempts, one.worth?.toFixed(2) ?? '', formatShare(one.usefulShare)],
    ...speeds.map((name) => speedFigures[name].show(one[name])),
    ...[formatHours(one.slotSeconds.waitingForData), formatBytesPerSecond(one.transferBytesPerSecond)],
  ]);
  const after = ['worth: epochs that lasted, per time on slots; 1 is the mean of all.'];
  return sectionTable('places', 'GPUs by site', head, rows, { after });
}
