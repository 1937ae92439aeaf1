import { createHash } from 'node:crypto';
import { readAsset } from '../job/assets.ts';
import type { Clock } from '@updraft/base';
import type { JobState, RunState } from '@updraft/account/journal';
import { isFailed } from '@updraft/account/report';
import { jobLabel } from '@updraft/account/parameters';
import type { Chart } from '@updraft/view/document';
import { boardOf, boardMetrics } from './board.ts';
import { CurveBook } from './curve-book.ts';
import { curveChart, inColour } from './curve-chart.ts';
import { explainJobs, jobDetail } from './job-detail.ts';
import { jobRow, slotPhases } from './job-row.ts';
import type { Board, JobDetail, Opening } from './page-data.ts';
import { rankedRepetitions } from './repetitions.ts';
import { measuredBy } from './row-order.ts';
import type { RunSource } from './run-source.ts';

/** A page and its Content-Security-Policy. */
export interface Page {
  html: string;
  policy: string;
}

export type PageMaker = (opening: Omit<Opening, 'phases'>) => Page;

/** Each page is one file with style, script and first figures in it, and loads nothing else. */
export async function pageMaker(): Promise<PageMaker> {
  const [style, script] = [(await readAsset('src/dashboard/page/page.css')) ?? '', await pageScript()];
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return (opening) => {
    const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policy)}">
<title>${escapeHtml(opening.change.board.name)} · Updraft</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. In a terminal, updraft status and updraft report show the same.</noscript>
<script type="application/json" id="opening">${embedded({ ...opening, phases: slotPhases } satisfies Opening)}</script>
<script>${script}</script>
</body>
</html>
`;
    return { html, policy: `${policy}; frame-ancestors 'none'` };
  };
}

/** The page's modules as one script: prebuilt when installed, bundled on first use in a checkout. */
async function pageScript(): Promise<string> {
  const built = await readAsset('src/dashboard/page/page.js');
  if (built !== undefined) return built;
  const { cachedPage } = await import('../../scripts/page-bundle.ts');
  return await cachedPage();
}

/** A page with one sentence, such as a refusal. */
export function plainPage(title: string, text: string, forward = '', seconds = 0): string {
  const refresh =
    forward === '' ? '' : `<meta http-equiv="refresh" content="${seconds};url=${escapeHtml(forward)}">`;
  const link = forward === '' ? '' : `<p><a href="${escapeHtml(forward)}">Continue</a></p>`;
  return `<!doctype html><html lang="en"><head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">${refresh}<title>${escapeHtml(title)}</title></head>
<body><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>${link}</body></html>`;
}

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

/** JSON that cannot end its script element. */
const embedded = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll('<', String.raw`\u003c`)
    .replaceAll('\u2028', String.raw`\u2028`);

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** More jobs get no details, to keep the file of a big run small. */
const maxDetails = 300;

/** The dashboard of a run at this moment, as one file that needs no server or network. */
export async function staticPage(
  source: RunSource,
  state: RunState,
  { clock, version }: { clock: Clock; version: string },
): Promise<string> {
  const now = clock.now();
  const details: Record<string, JobDetail> = {};
  const jobs = state.jobs.toSorted(byPriority).slice(0, maxDetails);
  const explanations = new Map((await explainJobs(source, state, jobs)).map((one) => [one.job, one]));
  for (const job of jobs) {
    const explanation = explanations.get(job.id);
    if (explanation) details[job.id] = await jobDetail(source, job, explanation);
  }
  const rows = state.jobs.map((job) => jobRow(job, now));
  const board = boardOf(state, { place: source.place, trouble: null, stop: null, retry: null }, now);
  const makePage = await pageMaker();
  const { html } = makePage({
    mode: 'static',
    base: '',
    runs: [],
    change: { board, rows, reset: true },
    details,
    curves: await savedCurves(source, state, board),
    version,
  });
  return html;
}

/** Points of all curves, and of each at least: with many jobs, only metrics that most likely decide have curves. */
const [maxSavedPoints, fewPoints, minSavedMetrics] = [60_000, 24, 6];

async function savedCurves(
  { folder }: RunSource,
  { jobs }: RunState,
  board: Board,
): Promise<Opening['curves']> {
  const fitting = Math.floor(maxSavedPoints / fewPoints / Math.max(1, jobs.length));
  const metrics = board.metrics.slice(0, Math.max(minSavedMetrics, fitting)).map(({ name }) => name);
  const book = new CurveBook(folder);
  const curves: Opening['curves'] = {};
  for (const metric of metrics)
    curves[metric] = await book.read(jobs, metric, {
      maxMs: Infinity,
      points: maxSavedPoints / metrics.length,
    });
  return curves;
}

/** More charts would make a report long. */
const maxCharts = 4;

/** The curves of what most likely decides, as the page draws them, for a report. */
export async function metricCharts(folder: string, state: RunState): Promise<Chart[]> {
  const rows = state.jobs.map((job) => jobRow(job, 0));
  const book = new CurveBook(folder);
  const charts: Chart[] = [];
  for (const metric of boardMetrics(state).slice(0, maxCharts)) {
    const measured = { ...metric, of: 'last' } as const;
    const curves = await book.read(state.jobs, metric.name, { maxMs: Infinity });
    if (Object.values(curves.curves).every(({ y }) => y.length < 2)) continue;
    const ranked = rankedRepetitions(rows, measured);
    const groups = ranked.map(({ row: { id, name }, members }) => ({
      row: { id, name: members.length > 1 ? `${name || 'all'} × ${members.length}` : jobLabel(id, name) },
      members,
    }));
    const known = ranked.filter(({ row }) => measuredBy(row, measured) !== undefined).length;
    const [unit = 'epochs'] = curves.units;
    const isGrouped = ranked.some(({ members }) => members.length > 1);
    const title = `${metric.name} over ${unit}${isGrouped ? ', repetitions as mean and range' : ''}`;
    const size = { width: 960, height: 340, hasLegend: true } as const;
    const plot = { ...size, id: `curve-${charts.length}`, title };
    const view = { unit, isLog: false, smoothing: 0 };
    const { drawn } = curveChart(curves, measured, groups, Math.min(inColour, known), view, plot);
    charts.push({ section: 'results', title, svg: drawn.svg });
  }
  return charts;
}

/** Failed and held jobs first, then those with several attempts. */
const byPriority = (a: JobState, b: JobState): number => priority(b) - priority(a);

const priority = (job: JobState): number => (isFailed(job) ? 1000 : 0) + job.attempts.length;
