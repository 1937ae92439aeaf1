import type { Command } from 'commander';
import { counted } from '../../base/counted.ts';
import { printable } from '../../base/printable.ts';
import { clip, type TableColumn, textTable, widthOf, wrap } from '../../base/text-table.ts';
import { jobLabel } from '../../job/describe-parameters.ts';
import { formatSize } from '../../job/units.ts';
import { jobMetrics } from '../../journal/metrics.ts';
import type { JobState, RunState, TrainingState } from '../../journal/state.ts';
import type { Cli } from '../cli.ts';
import { findRun } from '../find-run.ts';
import { failureCommands } from '../run-view/after-failure.ts';
import { currentState, printTrouble, printUnsupervised } from '../run-view/current-state.ts';
import {
  fetchTotals,
  jobNotes,
  describeState,
  latestAttempt,
  displaySite,
  formatEpoch,
  formatLoss,
} from '../run-view/describe-job.ts';
import { nextCommands } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .option('--json', 'print everything in the journals as JSON')
    .action(async (word: string | undefined, { json = false }: { json?: boolean }) => {
      const run = await findRun(cli.cwd, word);
      const state = await currentState(cli, run.folder);
      if (json) {
        cli.out(`${JSON.stringify({ folder: run.folder, ...state })}\n`);
        return;
      }
      cli.out(`${statusText(state, cli.columns, cli.clock.now(), cli.outIsTerminal)}\n`);
      printTrouble(cli, state);
      await printUnsupervised(cli, run.folder, state);
      nextCommands(cli, [
        state.endedAt === undefined
          ? [`updraft watch ${run.argument}`, 'watch it live']
          : [`updraft report ${run.argument}`, 'where the time went'],
        state.jobs.some(({ parameters }) => parameters !== undefined) && [
          `updraft results ${run.argument}`,
          'parameters and metrics of every job',
        ],
        ...(await failureCommands(state, run)),
        [`updraft logs ${run.argument} JOB`, 'what the training printed'],
        state.endedAt === undefined && [`updraft stop ${run.argument}`, 'stop it, and clean up'],
      ]);
    });
}

/** More jobs than anyone reads line by line. */
const foldAbove = 40;

const right = (title: string) => ({ title, align: 'right' as const });
/** The columns for jobs that report these metrics. */
const columnsFor = (metrics: readonly string[]): TableColumn[] => [
  { title: 'JOB' },
  right('TRY'),
  { title: 'STATE' },
  { title: 'WHERE' },
  right('BYTES'),
  right('RATE'),
  right('EPOCH'),
  ...metrics.map((name) => right(name.toUpperCase())),
  { title: 'NOTE' },
];
/** More have room in `updraft results`. */
const maxMetrics = 4;
const minNoteWidth = 24;
const maxNameWidth = 32;

/** A line per job; on a terminal, no wider than that, with similar jobs folded into one line. */
function statusText(state: RunState, width: number, now: number, onTerminal: boolean): string {
  const title = `run ${printable(state.run)}, pool ${printable(state.pool)}: ${totals(state)}`;
  const measured = state.jobs.map((job) => jobMetrics(job).metrics);
  const metrics = [...new Set(measured.flatMap((one) => Object.keys(one)))].slice(0, maxMetrics);
  const rows = state.jobs.map((job, index) =>
    row(
      job,
      now,
      metrics.map((name) => measured[index]?.[name]),
      onTerminal ? maxNameWidth : Infinity,
    ),
  );
  const columns = columnsFor(metrics);
  if (!onTerminal) return [title, '', ...textTable(columns, rows)].join('\n');
  const table = fitted(columns, rows.length > foldAbove ? foldSimilar(rows) : rows, width);
  return [...wrap(title, width, '', '  '), '', ...table].join('\n');
}

function fitted(columns: TableColumn[], rows: string[][], width: number): string[] {
  let table = textTable(columns, rows);
  const left = new Set<string>();
  const noteWidth = Math.min(minNoteWidth, Math.max(0, ...rows.map((cells) => widthOf(cells.at(-1) ?? ''))));
  // What to drop on a narrow terminal, in this order, to make room for the notes.
  const titles = columns.map(({ title }) => title);
  const metrics = titles.slice(titles.indexOf('EPOCH') + 1, -1).reverse();
  for (const name of ['RATE', 'BYTES', ...metrics, 'EPOCH']) {
    if ((table[0] ?? '').indexOf('NOTE') + noteWidth <= width) break;
    left.add(name);
    // A column that is empty in every row is not shown.
    const fewer = rows.map((cells) =>
      cells.map((cell, at) => (left.has(columns[at]?.title ?? '') ? '' : cell)),
    );
    table = textTable(columns, fewer);
  }
  return table.map((line) => clip(line, width));
}

function row(job: JobState, now: number, metrics: readonly (number | undefined)[], room: number): string[] {
  const attempt = latestAttempt(job);
  const fetches = attempt?.agent?.fetches ?? [];
  const { bytes, rate } = fetchTotals(fetches);
  const training: TrainingState = attempt?.agent?.training ?? { command: '' };
  return [
    clip(printable(jobLabel(job.id, job.name)), room),
    attempt === undefined ? '' : String(attempt.attempt),
    describeState(job),
    clip(printable(displaySite(attempt)), 20),
    fetches.length === 0 ? '' : formatSize(bytes),
    rate > 0 ? `${formatSize(rate)}/s` : '',
    formatEpoch(training),
    ...metrics.map((value) => (value === undefined ? '' : formatLoss(value))),
    jobNotes(job, now).join(', '),
  ];
}

function totals({ jobs, tally }: RunState): string {
  const { total, ...parts } = { ...tally, held: 0, unknown: 0 };
  // As their rows say: a held job waits, or has finally failed.
  for (const { held, isUntold, status, outcome = 'lost' } of jobs) {
    if (held === undefined && isUntold !== true) continue;
    parts[status === 'ended' ? outcome : status] -= 1;
    parts[held === undefined ? 'unknown' : 'held'] += 1;
  }
  const counts = Object.entries(parts).filter(([, count]) => count > 0);
  const words = counts.map(([part, count]) => `${count} ${part}`).join(', ');
  return `${counted(total, 'job')}${words === '' ? '' : `, ${words}`}`;
}

/** Rows of a table whose first cell is a name; neighbours that differ only in it become one, from first to last. */
export function foldSimilar(rows: readonly string[][]): string[][] {
  const folded: { first: string; last: string; rest: string[]; key: string }[] = [];
  for (const [name = '', ...rest] of rows) {
    const key = rest.join('\n');
    const before = folded.at(-1);
    if (before?.key === key) before.last = name;
    else folded.push({ first: name, last: name, rest, key });
  }
  return folded.map(({ first, last, rest }) => [first === last ? first : `${first} to ${last}`, ...rest]);
}
