import { formatSize } from '../job/units.ts';
import { showMillis } from './show-millis.ts';
import { describeCause } from './log/causes.ts';
import { columnWords, lossColumns, slotColumns, sumOver } from './columns.ts';
import type { GroupReport } from './group-reports.ts';
import type { LogReport } from './log-report.ts';
import { showAmount } from './show-amount.ts';

/** A part of a report: a table with words around it, to be shown as text, Markdown or HTML. */
export interface Section {
  id: string;
  title: string;
  head: { title: string; align?: 'right' }[];
  /** Plain text, not yet made safe for wherever it is shown. */
  rows: string[][];
  /** A share per row, to be drawn as a bar. */
  bars?: number[];
  /** Sentences below the table. */
  after?: string[];
}

export const showSeconds = (seconds: number | null): string =>
  seconds === null ? '-' : showMillis(seconds * 1000);
/** Less than an hour says more in minutes and seconds. */
export const showHours = (seconds: number): string =>
  seconds < 3600 ? showSeconds(seconds) : `${(seconds / 3600).toFixed(1)} h`;
export const showShare = (share: number | null): string =>
  share === null ? '-' : `${(share * 100).toFixed(1)} %`;

const right = (title: string) => ({ title, align: 'right' as const });
const mostSites = 20;

/** A report in the order a reader asks: how did it go, where did the time go, why, where, and what to change. */
export function sections(report: LogReport): Section[] {
  return [
    summarySection(report),
    timeSection(report),
    failureSection(report),
    setbackSection(report),
    siteSection(report),
    groupSection('gpus', 'GPUs', 'model', report.gpus),
    // One job has told all of this already.
    ...(report.jobs.total < 2
      ? []
      : [
          groupSection('machines', 'Machines that lost most', 'machine', worst(report.machines)),
          wasteSection(report),
          slowestSection(report),
        ]),
    cacheSection(report),
    resourceSection(report),
  ].filter(({ rows }) => rows.length > 0);
}

function summarySection(report: LogReport): Section {
  const { jobs, attempts, slotTotalSeconds, usefulShare, completion } = report;
  const { total, success, ...others } = jobs;
  const rest = Object.entries(others).filter(([, count]) => count > 0);
  const words = rest.map(([name, count]) => `${count} ${outcomeWords[name] ?? name}`).join(', ');
  return {
    id: 'summary',
    title: 'Summary',
    head: [{ title: '' }, { title: '' }],
    rows: [
      ...whenRow(report),
      ['jobs', `${total}${words === '' ? '' : ` (${words})`}`],
      ['success', total === 0 ? '-' : `${success} (${showShare(success / total)})`],
      ['attempts', String(attempts)],
      ['time on slots', showHours(slotTotalSeconds)],
      ['useful compute', usefulShare === null ? '-' : `${showShare(usefulShare)} of it`],
      ...lostRows(report),
      ['first match to completion', completionWords(completion)],
    ],
  };
}

function whenRow({ firstEventAt, lastEventAt }: LogReport): string[][] {
  if (firstEventAt === null || lastEventAt === null) return [];
  const [from, to] = [firstEventAt.slice(0, 10), lastEventAt.slice(0, 10)];
  const took = showMillis(Date.parse(lastEventAt) - Date.parse(firstEventAt));
  return [['when', `${from === to ? from : `${from} to ${to}`}, ${took}`]];
}

/** What led to nothing, and why most of it did. */
function lostRows({ slotSeconds, slotTotalSeconds, setbacks }: LogReport): string[][] {
  const lost = sumOver(slotSeconds, lossColumns);
  const [worst] = setbacks;
  if (lost === 0) return [];
  return [
    ['lost', `${showShare(lost / slotTotalSeconds)} of it, ${showHours(lost)}`],
    ...(worst === undefined || worst.lostSeconds === 0
      ? []
      : [['lost mostly because', describeCause(worst.cause).what]]),
  ];
}

const outcomeWords: Record<string, string> = { wrongOutput: 'with a wrong output' };

function completionWords({ meanSeconds, medianSeconds, p95Seconds }: LogReport['completion']): string {
  if (meanSeconds === null) return '-';
  return `mean ${showSeconds(meanSeconds)}, median ${showSeconds(medianSeconds)}, 95 % within ${showSeconds(p95Seconds)}`;
}

function timeSection({ slotSeconds, slotTotalSeconds }: LogReport): Section {
  const used = slotColumns
    .filter((column) => slotSeconds[column] > 0)
    .sort((a, b) => slotSeconds[b] - slotSeconds[a]);
  const off = (['queued', 'idle', 'held'] as const).filter((column) => slotSeconds[column] > 0);
  const shares = used.map((column) => slotSeconds[column] / slotTotalSeconds);
  return {
    id: 'time',
    title: 'Where the time on slots went',
    head: [{ title: 'what' }, right('time'), right('share')],
    rows: used.map((column, index) => [
      columnWords[column],
      showHours(slotSeconds[column]),
      showShare(shares[index] ?? 0),
    ]),
    bars: shares,
    after:
      off.length === 0
        ? []
        : [
            `On no slot: ${off.map((column) => `${showHours(slotSeconds[column])} ${columnWords[column]}`).join(', ')}.`,
          ],
  };
}

function failureSection({ failures }: LogReport): Section {
  return {
    id: 'failures',
    title: 'Jobs without a good end, by cause',
    head: [{ title: 'cause' }, right('jobs'), right('share'), { title: 'what' }],
    rows: failures.map(({ cause, jobs, share, what }) => [cause, String(jobs), showShare(share), what]),
    after: failures.flatMap(({ cause, remedy, example }) => [
      `${cause}: ${remedy}`,
      ...(example === null ? [] : [`  job ${example.job}: ${example.reason}`]),
    ]),
  };
}

function setbackSection({ setbacks, failures }: LogReport): Section {
  const told = new Set(failures.map(({ cause }) => cause));
  const costly = setbacks.filter(({ cause, lostSeconds }) => lostSeconds > 0 && !told.has(cause));
  return {
    id: 'setbacks',
    title: 'Attempts that did not go well, by cause',
    head: [{ title: 'cause' }, right('attempts'), right('slot time lost'), { title: 'what' }],
    rows: setbacks.map(({ cause, attempts, lostSeconds }) => [
      cause,
      String(attempts),
      showHours(lostSeconds),
      describeCause(cause).what,
    ]),
    after: costly.map(({ cause }) => `${cause}: ${describeCause(cause).remedy}`),
  };
}

function siteSection({ sites }: LogReport): Section {
  const left = sites.length - mostSites;
  return {
    id: 'sites',
    title: 'Sites',
    head: [
      { title: 'site' },
      right('jobs'),
      right('success'),
      right('compute mean'),
      right('median'),
      right('deviation'),
      right('transfer median'),
      right('rate'),
    ],
    rows: sites
      .slice(0, mostSites)
      .map((site) => [
        site.name,
        String(site.jobs),
        String(site.success),
        showSeconds(site.computeMeanSeconds),
        showSeconds(site.computeMedianSeconds),
        showSeconds(site.computeDeviationSeconds),
        showSeconds(site.transferMedianSeconds),
        site.transferBytesPerSecond === null ? '-' : `${formatSize(site.transferBytesPerSecond)}/s`,
      ]),
    ...(left > 0 ? { after: [`${left} more sites or machines with fewer jobs are left out here.`] } : {}),
  };
}

function groupSection(id: string, title: string, what: string, groups: readonly GroupReport[]): Section {
  return {
    id,
    title,
    head: [
      { title: what },
      right('attempts'),
      right('success'),
      right('time on slots'),
      right('useful compute'),
      right('slot time lost'),
    ],
    rows: groups.map((group) => [
      group.name,
      String(group.attempts),
      String(group.success),
      showHours(group.slotTotalSeconds),
      showShare(group.usefulShare),
      showHours(group.lostSeconds),
    ]),
  };
}

const mostMachines = 10;

const worst = (machines: readonly GroupReport[]): GroupReport[] =>
  machines.filter(({ lostSeconds }) => lostSeconds > 0).slice(0, mostMachines);

function wasteSection({ mostWasteful }: LogReport): Section {
  return {
    id: 'waste',
    title: 'Most wasteful jobs',
    head: [
      { title: 'job' },
      { title: 'outcome' },
      right('attempts'),
      right('slot time lost'),
      { title: 'mostly' },
    ],
    rows: mostWasteful.map(({ job, outcome, attempts, lostSeconds, mostly }) => [
      job,
      outcomeWords[outcome] ?? outcome,
      String(attempts),
      showSeconds(lostSeconds),
      columnWords[mostly],
    ]),
  };
}

function slowestSection({ slowest }: LogReport): Section {
  return {
    id: 'slowest',
    title: 'Slowest jobs that ended well',
    head: [{ title: 'job' }, right('first match to completion')],
    rows: slowest.map(({ job, seconds }) => [job, showSeconds(seconds)]),
  };
}

/** Which cache or origin gave how much. */
function cacheSection({ caches }: Pick<LogReport, 'caches'>): Section {
  return {
    id: 'caches',
    title: 'Caches and origins',
    head: [
      { title: 'server' },
      right('fetches'),
      right('given'),
      right('share'),
      right('rate'),
      right('given up'),
    ],
    rows: caches.map(({ name, fetches, bytes, share, bytesPerSecond, setbacks }) => [
      name,
      String(fetches),
      formatSize(bytes),
      showShare(share),
      bytesPerSecond === null ? '-' : `${formatSize(bytesPerSecond)}/s`,
      String(setbacks),
    ]),
  };
}

/** What was asked for and used, and what to ask for. */
function resourceSection({ resources }: Pick<LogReport, 'resources'>): Section {
  return {
    id: 'resources',
    title: 'Resources asked for and used',
    head: [
      { title: 'resource' },
      right('asked'),
      right('used, median'),
      right('used, most'),
      right('better ask for'),
      { title: '' },
    ],
    rows: resources.map(({ name, unit, requestedMax, usedMedian, usedMax, suggested, advice }) => {
      const amounts = [requestedMax, usedMedian, usedMax].map((value) => showAmount(value, unit));
      return [name, ...amounts, suggested === null ? '' : showAmount(suggested, unit), advice];
    }),
  };
}
