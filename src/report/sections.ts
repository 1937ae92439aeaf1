import { causeTitle, remedyOf } from '../codes/causes.ts';
import { formatSize } from '../job/units.ts';
import { logTime } from '../history/log-facts.ts';
import { columnWords, lossColumns, slotColumns, sumOver, usefulColumns } from './columns.ts';
import type { JobName, LogReport } from './log-report.ts';
import type { GroupReport } from './places.ts';
import { showAmount, showHours, showSeconds, showShare } from './show.ts';
import { showMillis } from './show-millis.ts';
import { avoidLine } from './verdict.ts';

/** A part of a report: a table with words around it, to be shown as text, Markdown or HTML. */
export interface Section {
  id: string;
  title: string;
  head: { title: string; align?: 'right' }[];
  /** Plain text, not yet made safe for wherever it is shown. */
  rows: string[][];
  /** A share per row, to be drawn as a bar. */
  bars?: number[];
  /** Sentences below the table; those that begin with a space are quotations. */
  after?: string[];
}

const right = (title: string) => ({ title, align: 'right' as const });
const maxSites = 20;
const maxMachines = 10;

/** One picture of where the time on slots went: shares that add up to 1. */
export function timePicture({
  slotSeconds,
  slotTotalSeconds,
}: LogReport): { words: string; share: number }[] {
  if (slotTotalSeconds === 0) return [];
  const useful = slotSeconds.usefulCompute;
  const moving = sumOver(slotSeconds, usefulColumns) - useful;
  const lost = sumOver(slotSeconds, lossColumns);
  const parts = { 'useful compute': useful, 'moving data': moving, lost };
  const other = slotTotalSeconds - useful - moving - lost;
  return Object.entries({ ...parts, other }).map(([words, seconds]) => ({
    words,
    share: Math.max(0, seconds) / slotTotalSeconds,
  }));
}

/**
 * A report in the order a reader asks: how did it go, where did the time go, why, where, and what to change. `all` adds
 * what few readers need: the slowest jobs, and machines that were met once.
 */
export function sections(report: LogReport, all = false): Section[] {
  const { jobs, sites, machines } = report;
  const often = machines.filter(({ attempts }) => all || attempts > 1);
  // Without sites the machines are told by already.
  const isNew = all || sites.some(({ name }) => !machines.some((machine) => machine.name === name));
  return [
    summarySection(report),
    timeSection(report),
    suspectSection(report),
    failureSection(report),
    setbackSection(report),
    siteSection(report, all),
    groupSection('gpus', 'GPUs', 'model', report.gpus),
    ...(isNew && jobs.total > 1
      ? [groupSection('machines', 'Machines that lost most', 'machine', worst(often, all))]
      : []),
    brokenSection(report),
    // One job has said all of this already.
    ...(jobs.total > 1 ? [wasteSection(report)] : []),
    ...(all ? [slowestSection(report)] : []),
    cacheSection(report),
    resourceSection(report),
  ].filter(({ rows }) => rows.length > 0);
}

/** A node by its name, with the number that the pool knows it by. */
const labelOf = ({ job, node }: JobName): string => (node === null ? job : `${node} (${job})`);

function summarySection(report: LogReport): Section {
  const { jobs, nodes, attempts, slotTotalSeconds, usefulShare, completion } = report;
  const { total, success, ...others } = jobs;
  const rest = Object.entries(others).filter(([, count]) => count > 0);
  const words = rest.map(([name, count]) => `${count} ${outcomeWords[name] ?? name}`).join(', ');
  return {
    id: 'summary',
    title: 'Summary',
    head: [{ title: '' }, { title: '' }],
    rows: [
      ...whenRow(report),
      [nodes ? 'nodes' : 'jobs', `${total}${words === '' ? '' : ` (${words})`}`],
      ['success', total === 0 ? '-' : `${success} (${showShare(success / total)})`],
      ['attempts', String(attempts)],
      ['time on slots', showHours(slotTotalSeconds)],
      ['useful compute', usefulShare === null ? '-' : `${showShare(usefulShare)} of it`],
      ...lostRows(report),
      ['first match to completion', completionWords(completion)],
    ],
  };
}

/** By the log's own clock. */
function whenRow({ firstEventAt, lastEventAt, clock, events }: LogReport): string[][] {
  if (firstEventAt === null || lastEventAt === null) return [];
  const { zone, offsetMinutes, guessedYear } = clock;
  const dayOf = (time: string) =>
    logTime(Date.parse(time), { zone: undefined, offsetMinutes: offsetMinutes ?? undefined }).slice(0, 10);
  const [from, to] = [dayOf(firstEventAt), dayOf(lastEventAt)];
  const took = showMillis(Date.parse(lastEventAt) - Date.parse(firstEventAt));
  const where = zone ?? (events === 0 ? 'UTC' : 'no zone given');
  const days = `${from === to ? from : `${from} to ${to}`}${guessedYear ? ' (year guessed)' : ''}`;
  return [['when', `${days}, ${took}, ${where}`]];
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
      : [['lost mostly because', causeTitle(worst.cause)]]),
  ];
}

const outcomeWords: Record<string, string> = { wrongOutput: 'with a wrong output' };

function suspectSection({ suspicious }: LogReport): Section {
  const ids = suspicious.map(({ job }) => job).join(',');
  return {
    id: 'suspicious',
    title: 'Suspicious: ended with exit code 0, but unlike the others',
    head: [{ title: 'job' }, { title: 'why' }],
    rows: suspicious.map((suspect) => [labelOf(suspect), suspect.why]),
    after: [
      `They count neither as success nor as failure. If their results are wrong: \`--invalid ${ids}\`. If a rule decides: \`--valid 'bytes>1M && seconds>600'\`.`,
    ],
  };
}

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
      ...(example === null ? [] : [`  job ${labelOf(example)}: ${example.reason}`]),
    ]),
  };
}

function setbackSection({ setbacks, failures }: LogReport): Section {
  const known = new Set(failures.map(({ cause }) => cause));
  const costly = setbacks.filter(({ cause, lostSeconds }) => lostSeconds > 0 && !known.has(cause));
  return {
    id: 'setbacks',
    title: 'Attempts that did not go well, by cause',
    head: [{ title: 'cause' }, right('attempts'), right('slot time lost'), { title: 'what' }],
    rows: setbacks.map(({ cause, attempts, lostSeconds }) => [
      cause,
      String(attempts),
      showHours(lostSeconds),
      causeTitle(cause),
    ]),
    after: costly.map(({ cause }) => `${cause}: ${remedyOf(cause)}`),
  };
}

function siteSection({ sites }: LogReport, all: boolean): Section {
  const shown = all ? sites : sites.slice(0, maxSites);
  const left = sites.length - shown.length;
  return {
    id: 'sites',
    title: 'Sites, by attempts',
    head: [
      { title: 'site' },
      right('attempts'),
      right('good'),
      right('lost'),
      { title: 'mostly' },
      right('compute median'),
      right('transfer median'),
      right('rate'),
    ],
    rows: shown.map((site) => [
      site.name,
      String(site.attempts),
      String(site.success),
      showHours(site.lostSeconds),
      site.cause ?? '',
      showSeconds(site.computeMedianSeconds),
      showSeconds(site.transferMedianSeconds),
      site.transferBytesPerSecond === null ? '-' : `${formatSize(site.transferBytesPerSecond)}/s`,
    ]),
    after: left > 0 ? [`${left} more that lost less are shown with --all.`] : [],
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

const worst = (machines: readonly GroupReport[], all: boolean): GroupReport[] =>
  machines.filter(({ lostSeconds }) => lostSeconds > 0).slice(0, all ? undefined : maxMachines);

function brokenSection({ brokenMachines }: LogReport): Section {
  const [first] = brokenMachines;
  return {
    id: 'broken',
    title: 'Machines that seem broken',
    head: [{ title: 'machine' }, right('attempts'), right('failed in a row'), { title: 'mostly' }],
    rows: brokenMachines
      .slice(0, maxMachines)
      .map(({ name, attempts, inARow, cause }) => [name, String(attempts), String(inARow), cause]),
    after: first === undefined ? [] : [`To avoid it: \`${avoidLine('Machine', first.name)}\``],
  };
}

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
    rows: mostWasteful.map(({ outcome, attempts, lostSeconds, mostly, ...name }) => [
      labelOf(name),
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
    rows: slowest.map(({ seconds, ...name }) => [labelOf(name), showSeconds(seconds)]),
  };
}

/** Which cache or origin gave how much. */
function cacheSection({ caches }: LogReport): Section {
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
function resourceSection({ resources }: LogReport): Section {
  return {
    id: 'resources',
    title: 'Resources asked for and used',
    head: [
      { title: 'resource' },
      right('asked'),
      right('used, median'),
      right('used, max'),
      right('better ask for'),
      { title: '' },
    ],
    rows: resources.map(({ name, unit, requestedMax, usedMedian, usedMax, suggested, advice }) => {
      const amounts = [requestedMax, usedMedian, usedMax].map((value) => showAmount(value, unit));
      return [name, ...amounts, suggested === null ? '' : showAmount(suggested, unit), advice];
    }),
  };
}
