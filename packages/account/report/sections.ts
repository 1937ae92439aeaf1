import { causeTitle } from '../codes/causes.ts';
import { formatSize, given } from '@updraft/base';
import { logTime } from '../history/log-facts.ts';
import { columnLabels, lossColumns, slotColumns, sumOver, usefulColumns } from './columns.ts';
import { type JobTableRow, valueNames } from './job-table.ts';
import { outcomeWords } from './ledger.ts';
import { nodeSections } from './node-report.ts';
import type { LogReport } from './log-report.ts';
import type { GroupReport } from './groups.ts';
import { groupSection, placeSection } from './group-section.ts';
import { jobLabels } from './job-names.ts';
import { type Section, sectionTable } from '@updraft/view/document';
import { unknownSite } from './sites.ts';
import {
  formatAmount,
  formatBytesPerSecond,
  formatHours,
  formatMillis,
  formatSeconds,
  formatShare,
} from '@updraft/view/format';
import { resultsSection } from './results-table.ts';
import { searchSections } from './search-report.ts';
import { avoidLine } from './verdict.ts';

/** Of more jobs, rows are shown only on request. */
export const maxJobs = 20;
const maxMachines = 10;
const maxPairs = 20;

/** Where the time on slots went: shares that add up to 1. */
export function timeSummary({
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

export interface SectionChoice {
  /** Adds the slowest jobs, and machines with a single attempt. */
  all?: boolean;
  jobRows?: readonly JobTableRow[];
  /** With more jobs than this, none is listed. */
  maxRows?: number;
}

/** In the order of a reader's questions: how did it go, where did the time go, why, where, what to change. */
export function sections(report: LogReport, choice: SectionChoice = {}): Section[] {
  const { all = false, jobRows = [], maxRows = maxJobs } = choice;
  const { jobs, sites, machines } = report;
  const often = machines.filter(({ attempts }) => all || attempts > 1);
  const hosts = new Set(machines.map(({ name }) => name));
  // Without site names, the table of sites lists machines.
  const hasSites = sites.some(({ name }) => name !== unknownSite && !hosts.has(name));
  return given(
    summarySection(report),
    ...searchSections(report),
    timeSection(report),
    suspectSection(report),
    failureSection(report),
    setbackSection(report),
    ...nodeSections(report.dag, all),
    groupSection(
      { id: 'sites', title: hasSites ? 'Sites' : 'Machines', column: hasSites ? 'site' : 'machine' },
      sites,
      all,
    ),
    groupSection({ id: 'gpus', title: 'GPUs', column: 'model' }, report.gpus, all),
    placeSection(report),
    hasSites &&
      jobs.total > 1 &&
      groupSection(
        { id: 'machines', title: 'Machines with the largest loss', column: 'machine' },
        worst(often, all),
        all,
      ),
    brokenSection(report),
    // For one job, the other tables say it all.
    jobs.total > 1 && wasteSection(report),
    all && slowestSection(report),
    cacheSection(report),
    cacheSiteSection(report, all),
    resourceSection(report),
    checkpointSection(report),
    ...(jobRows.length > maxRows || valueNames(jobRows, 'metrics').length === 0
      ? []
      : [resultsSection(jobRows)]),
    jobSection(report, jobRows, maxRows),
  ).filter(({ rows }) => rows.length > 0);
}

function summarySection(report: LogReport): Section {
  const { jobs, nodes, attempts, slotTotalSeconds, usefulShare, completion } = report;
  const { total, success, ...others } = jobs;
  const rest = Object.entries(others).filter(([, count]) => count > 0);
  const words = rest.map(([name, count]) => `${count} ${outcomeWords(name)}`).join(', ');
  return sectionTable('summary', 'Summary', '|', [
    ...(report.dag?.ends ?? []).map((end) => ['DAGMan', end]),
    ...whenRow(report),
    ...nodeRow(report),
    [
      nodes && nodeRow(report).length === 0 ? 'nodes' : 'jobs',
      `${total}${words === '' ? '' : ` (${words})`}`,
    ],
    ['success', total === 0 ? '-' : `${success} (${formatShare(success / total)})`],
    ['attempts', attempts],
    ['time on slots', formatHours(slotTotalSeconds)],
    ['useful compute', usefulShare === null ? '-' : `${formatShare(usefulShare)} of it`],
    ...lostRows(report),
    ['first match to completion', describeCompletion(completion)],
    ...sentRow(report),
  ]);
}

/** Nothing if each node has one job. */
function nodeRow({ dag, jobs }: LogReport): string[][] {
  if (dag === null || (dag.costs.length === jobs.total && dag.nodes === jobs.total)) return [];
  const { nodes: total, costs, notSubmitted } = dag;
  const bad = Map.groupBy(costs, ({ outcome }) => outcome);
  const words = [...bad]
    .filter(([outcome]) => outcome !== 'success')
    .map(([outcome, { length }]) => `${length} ${outcomeWords(outcome)}`);
  const without = notSubmitted.reduce((sum, { nodes }) => sum + nodes.length, 0);
  if (without > 0) words.push(`${without} without a job`);
  return [['nodes', `${total}${words.length === 0 ? '' : ` (${words.join(', ')})`}`]];
}

const minShownBytes = 1e6;

function sentRow({ sent: { bytes, attempts } }: LogReport): string[][] {
  if (bytes < minShownBytes) return [];
  const each = formatSize(Math.round(bytes / attempts));
  return [['sent by HTCondor', `${formatSize(bytes)}, ${each} per attempt on average`]];
}

/** According to the log's own clock. */
function whenRow({ firstEventAt, lastEventAt, clock }: LogReport): string[][] {
  if (firstEventAt === null || lastEventAt === null) return [];
  const { zone, offsetMinutes, guessedYear } = clock;
  const dayOf = (time: string) =>
    logTime(Date.parse(time), { zone: undefined, offsetMinutes: offsetMinutes ?? undefined }).slice(0, 10);
  const [from, to] = [dayOf(firstEventAt), dayOf(lastEventAt)];
  const took = formatMillis(Date.parse(lastEventAt) - Date.parse(firstEventAt));
  const where = zone ?? 'no zone given';
  const days = `${from === to ? from : `${from} to ${to}`}${guessedYear ? ' (year guessed)' : ''}`;
  return [['when', `${days}, ${took}, ${where}`]];
}

function lostRows({ slotSeconds, slotTotalSeconds, setbacks }: LogReport): string[][] {
  const lost = sumOver(slotSeconds, lossColumns);
  const [worst] = setbacks;
  if (lost === 0) return [];
  const isKnown = worst !== undefined && worst.lostSeconds > 0;
  return given(
    ['lost', `${formatShare(lost / slotTotalSeconds)} of it, ${formatHours(lost)}`],
    isKnown && ['main cause of the loss', causeTitle(worst.cause)],
  );
}

function describeCompletion({ meanSeconds, medianSeconds, p95Seconds }: LogReport['completion']): string {
  if (meanSeconds === null) return '-';
  const [mean, median, p95] = [meanSeconds, medianSeconds, p95Seconds].map(formatSeconds);
  return `mean ${mean}, median ${median}, 95 % within ${p95}`;
}

function timeSection({ slotSeconds, slotTotalSeconds }: LogReport): Section {
  const used = slotColumns
    .filter((column) => slotSeconds[column] > 0)
    .sort((a, b) => slotSeconds[b] - slotSeconds[a]);
  const off = (['queued', 'idle', 'held'] as const).filter((column) => slotSeconds[column] > 0);
  const waits = off.map((column) => `${formatHours(slotSeconds[column])} ${columnLabels[column]}`).join(', ');
  const bars = used.map((column) => slotSeconds[column] / slotTotalSeconds);
  const rows = used.map((column, index) => [
    columnLabels[column],
    formatHours(slotSeconds[column]),
    formatShare(bars[index] ?? 0),
  ]);
  const after = waits === '' ? [] : [`Not on a slot: ${waits}.`];
  return sectionTable('time', 'Where the time on slots went', 'what | time> | share>', rows, { bars, after });
}

function suspectSection(report: LogReport): Section {
  const { suspicious } = report;
  const labelOf = jobLabels(report);
  const title = 'Suspicious successes: exit code 0, but unlike the other jobs';
  const rows = suspicious.map((suspect) => [labelOf(suspect), suspect.why]);
  const ids = suspicious.map(({ job }) => job).join(',');
  const after =
    `They count neither as success nor as failure. If their results are wrong, use ` +
    `\`--invalid ${ids}\`; to decide by a rule, \`--valid 'bytes>1M && seconds>600'\`.`;
  return sectionTable('suspicious', title, 'job | why', rows, { after: [after] });
}

function failureSection(report: LogReport): Section {
  const { failures } = report;
  const labelOf = jobLabels(report);
  const rows = failures.map(({ cause, jobs, share, what }) => [cause, jobs, formatShare(share), what]);
  const after = failures.flatMap(({ cause, remedy, example }) =>
    given(
      `${cause}: ${remedy}`,
      example !== null &&
        `  ${example.node === null ? 'job' : 'node'} ${labelOf(example)}: ${example.reason}`,
    ),
  );
  const head = 'cause | jobs> | share> | what';
  return sectionTable('failures', 'Jobs without a valid result, by cause', head, rows, { after });
}

function setbackSection({ setbacks, failures }: LogReport): Section {
  const known = new Set(failures.map(({ cause }) => cause));
  const costly = setbacks.filter(({ cause, lostSeconds }) => lostSeconds > 0 && !known.has(cause));
  const head = 'cause | attempts> | lost> | what';
  const rows = setbacks.map(({ cause, attempts, lostSeconds }) => [
    cause,
    attempts,
    formatHours(lostSeconds),
    causeTitle(cause),
  ]);
  const after = costly.map(({ cause, remedy }) => `${cause}: ${remedy}`);
  return sectionTable('setbacks', 'Setbacks of attempts, by cause', head, rows, { after });
}

const worst = (machines: readonly GroupReport[], all: boolean): GroupReport[] =>
  machines.filter(({ lostSeconds }) => lostSeconds > 0).slice(0, all ? undefined : maxMachines);

function brokenSection({ brokenMachines, source }: LogReport): Section {
  const shown = brokenMachines.slice(0, maxMachines);
  const rows = shown.map(({ name, attempts, inARow, cause }) => [name, attempts, inARow, cause]);
  const lines = shown.slice(0, 1).map(({ name }) => avoidLine('machine', name, source));
  const after = lines.flatMap((line) => (line === null ? [] : [`To avoid it: \`${line}\``]));
  const head = 'machine | attempts> | failed in a row> | mostly';
  return sectionTable('broken', 'Machines that seem broken', head, rows, { after });
}

function wasteSection(report: LogReport): Section {
  const labelOf = jobLabels(report);
  const rows = report.largestLosses.map(({ outcome, attempts, lostSeconds, mostly, ...name }) => [
    labelOf(name),
    outcomeWords(outcome),
    attempts,
    formatSeconds(lostSeconds),
    columnLabels[mostly],
  ]);
  const head = 'job | outcome | attempts> | lost> | mostly';
  return sectionTable('waste', 'Most wasteful jobs', head, rows);
}

function jobSection(report: LogReport, jobs: readonly JobTableRow[], maxRows: number): Section {
  const labelOf = jobLabels(report);
  const shown = jobs.length > maxRows ? [] : jobs;
  const isSweep = shown.some(hasParameters);
  const whole = (seconds: number | null) => (seconds === null ? '' : Math.round(seconds));
  const rows = shown.map((row) =>
    given(
      // The parameters have their own column.
      labelOf({ ...row, name: '' }),
      isSweep && (row.name ?? ''),
      outcomeWords(row.outcome),
      row.valid === null ? '?' : row.valid ? 'yes' : 'no',
      `${row.sites.at(-1) ?? ''}${row.sites.length > 1 ? ` (+${row.sites.length - 1})` : ''}`,
      ...[row.executeSeconds, row.slotBusySeconds, row.transferTotalSeconds, row.lastTransferSeconds].map(
        whole,
      ),
      ...[row.stalls, row.holds, row.evictions, row.attempts],
    ),
  );
  const head = [
    `job | ${isSweep ? 'parameters | ' : ''}outcome | valid | site | `,
    'execute> | slot busy> | transfer> | last> | stalls> | holds> | evicted> | tries>',
  ].join('');
  return sectionTable('jobs', 'Jobs (times in seconds)', head, rows, { after: jobNotes(shown) });
}

/** With more than one attempt, the columns do not add up. */
function jobNotes(jobs: readonly JobTableRow[]): string[] {
  if (!jobs.some(({ attempts }) => attempts > 1)) return [];
  const moved = jobs.some(({ transferTotalSeconds }) => transferTotalSeconds !== null);
  const transfer =
    '; transfer is from the start of the first input transfer to the end of the last, including everything between';
  return [`Execute and slot busy are for the last attempt${moved ? transfer : ''}.`];
}

const hasParameters = ({ parameters }: JobTableRow): boolean => Object.keys(parameters).length > 0;

function slowestSection(report: LogReport): Section {
  const labelOf = jobLabels(report);
  const rows = report.slowest.map(({ seconds, ...name }) => [labelOf(name), formatSeconds(seconds)]);
  return sectionTable('slowest', 'Slowest successful jobs', 'job | first match to completion>', rows);
}

function cacheSection({ caches }: LogReport): Section {
  const isWanted = caches.some(({ wanted }) => wanted !== null);
  const hasAges = caches.some(({ coldShare }) => coldShare !== null);
  const isLive = caches.some(({ bytesPerSecondNow }) => bytesPerSecondNow > 0);
  const isGivenUp = caches.some(({ lastSetback }) => lastSetback !== null);
  const rows = caches.map((cache) =>
    given<string | number>(
      ...[cache.name, cache.fetches, formatSize(cache.bytes), formatShare(cache.share)],
      formatBytesPerSecond(cache.bytesPerSecond),
      isLive && formatBytesPerSecond(cache.bytesPerSecondNow || null),
      cache.setbacks,
      isGivenUp && (cache.lastSetback ?? ''),
      hasAges && formatShare(cache.coldShare),
      isWanted && (cache.wanted ?? ''),
    ),
  );
  const head = [
    `server | fetches> | delivered> | share> | rate> |${isLive ? ' now> |' : ''} given up>`,
    ...[isGivenUp ? 'last because' : [], hasAges ? 'cold>' : [], isWanted ? 'preference' : []].flat(),
  ].join(' | ');
  return sectionTable('caches', 'Caches and origins', head, rows, { after: hasAges ? [coldNote] : [] });
}

const coldNote =
  'Cold: bytes that the cache had to fetch itself first, of those with an `Age`; origins have none.';

/** With a single site, the table of caches says it all. */
export function cacheSiteSection({ cacheSites }: LogReport, all: boolean): Section {
  const isSeveral = new Set(cacheSites.map(({ site }) => site)).size > 1;
  const shown = all ? cacheSites : cacheSites.slice(0, maxPairs);
  const left = cacheSites.length - shown.length;
  const rows = shown.map(({ name, site, fetches, bytes, bytesPerSecond, setbacks, coldShare }) => [
    ...[name, site, fetches, formatSize(bytes), formatShare(coldShare)],
    ...[formatBytesPerSecond(bytesPerSecond), setbacks],
  ]);
  // On a narrow page the last columns are left out.
  const head = 'server | site | fetches> | delivered> | cold> | rate> | given up>';
  const after = left > 0 ? [`${left} more that delivered less: --all shows them.`] : [];
  return sectionTable('cache-sites', 'Which cache served which site', head, isSeveral ? rows : [], { after });
}

function checkpointSection({ checkpoints }: LogReport): Section {
  if (checkpoints === null) return sectionTable('checkpoints', 'Checkpoints', '|', []);
  const { saves, secondsPerSave, waitShare, everySeconds, interruptions, expectedShare } = checkpoints;
  const { meanSecondsBetween, lostSecondsEach } = checkpoints;
  const waited = waitShare === null ? '-' : `${formatShare(waitShare)} of the training`;
  return sectionTable(
    'checkpoints',
    'Checkpoints',
    '|',
    given(
      ['saved', saves],
      ['waited for saving', `${waited}, ${secondsPerSave.toFixed(2)} s each`],
      everySeconds !== null && ['saved every', formatSeconds(everySeconds)],
      ['interruptions', interruptions],
      meanSecondsBetween !== null && ['one in', formatSeconds(meanSecondsBetween)],
      lostSecondsEach !== null && ['work lost by each', formatSeconds(lostSecondsEach)],
      expectedShare !== null && ['expected if machines vanish', `${formatShare(expectedShare)} of the time`],
    ),
  );
}

function resourceSection({ resources }: LogReport): Section {
  const rows = resources.map(({ name, unit, requestedMax, usedMedian, usedMax, suggested, advice }) => {
    const amounts = [requestedMax, usedMedian, usedMax].map((value) => formatAmount(value, unit));
    return [name, ...amounts, suggested === null ? '' : formatAmount(suggested, unit), advice];
  });
  const head = 'resource | requested> | median use> | max use> | suggested> |';
  return sectionTable('resources', 'Resources requested and used', head, rows);
}
