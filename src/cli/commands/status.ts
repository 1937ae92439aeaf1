import type { Command } from 'commander';
import { counted, printable } from '@updraft/base';
import { type RunState, stoppedEarly } from '@updraft/account/journal';
import type { Document } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun } from '../find-run.ts';
import { failureCommands } from '../run-view/after-failure.ts';
import { currentState, printTrouble, printUnsupervised } from '../run-view/current-state.ts';
import { jobListing } from '../../run/describe-job.ts';
import { nextCommands, printPage } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'run-folder.md', [
    'updraft status                             # the latest run',
    'updraft status cifar10 --json | jq .tally  # counts of the latest run called cifar10',
  ])
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .option('--json', 'print everything in the journals as JSON')
    .action(async (word: string | undefined, { json = false }: { json?: boolean }) => {
      const run = await findRun(cli, word);
      const state = await currentState(cli, run.folder);
      printPage(cli, statusPage(cli, state), [], json && { folder: run.folder, ...state });
      if (json) return;
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
        ...failureCommands(state, run),
        [`updraft logs ${run.argument} JOB`, 'what the training printed'],
        state.endedAt === undefined && [`updraft stop ${run.argument}`, 'stop it, and clean up'],
      ]);
    });
}

/** More jobs than anyone reads line by line. */
const foldAbove = 40;

/** A line per job; on a terminal, no wider than that, with similar jobs folded into one line. */
function statusPage({ clock, outIsTerminal }: Cli, state: RunState): Document {
  const title = `run ${printable(state.run)}, pool ${printable(state.pool)}: ${totals(state)}`;
  const { columns, rows } = jobListing(state.jobs, clock.now());
  const isFolded = outIsTerminal && rows.length > foldAbove;
  return [title, '', { columns, rows: isFolded ? foldSimilar(state.jobs, rows) : rows }];
}

function totals({ jobs, tally }: RunState): string {
  const unknown = jobs.filter(({ isUntold }) => isUntold).length;
  const early = jobs.filter((job) => stoppedEarly(job) !== undefined).length;
  const { total, ...parts } = {
    ...tally,
    success: tally.success - early,
    'stopped-early': early,
    waiting: tally.waiting - unknown,
    unknown,
  };
  const counts = Object.entries(parts).filter(([, count]) => count > 0);
  const words = counts.map(([part, count]) => `${count} ${part}`).join(', ');
  return `${counted(total, 'job')}${words === '' ? '' : `, ${words}`}`;
}

/** Rows of these jobs, which begin with their names; neighbours that differ only in it are one, from first to last. */
export function foldSimilar(jobs: readonly { id: string }[], rows: readonly string[][]): string[][] {
  const folded: { ids: string[]; row: string[]; key: string }[] = [];
  for (const [at, row] of rows.entries()) {
    const key = row.slice(1).join('\n');
    const id = jobs[at]?.id ?? '';
    const before = folded.at(-1);
    if (before?.key === key) before.ids.push(id);
    else folded.push({ ids: [id], row, key });
  }
  return folded.map(({ ids, row }) =>
    ids.length === 1 ? row : [`${ids[0]} to ${ids.at(-1)}`, ...row.slice(1)],
  );
}
