import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '@updraft/base';
import { byImportance, isLowerBetter, type MetricDirections } from '@updraft/base/training';
import { resultsFolder } from '@updraft/account/run-folder';
import {
  jobTable,
  readRun,
  resultsCsv,
  resultsJson,
  resultsSection,
  sortResults,
  valueNames,
} from '@updraft/account/report';
import { documentText, sectionsMarkdown } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun } from '../find-run.ts';
import { formOption, textPage } from '../report/print-report.ts';
import { currentState, printTrouble } from '../run-view/current-state.ts';
import { integerOption, maxInteger } from '../submit/options.ts';
import { printJson, nextCommands, outWidth } from '../text/phrases.ts';

interface Options {
  sort?: string;
  top?: number;
  csv?: true;
  json?: true;
  markdown?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'progress.md', [
    'updraft results --sort -accuracy --top 10    # the ten best jobs of the latest run',
    'updraft results cifar10 --csv > results.csv  # all of it, for a spreadsheet',
  ])
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .option('--sort <column>', 'sort by a parameter or metric; -COLUMN: the largest first')
    .option('--top <n>', 'show only the first n jobs', integerOption(maxInteger))
    .addOption(formOption('--csv', 'print CSV'))
    .addOption(formOption('--json', 'print JSON'))
    .addOption(formOption('--markdown', 'print a Markdown table'))
    .action((word: string | undefined, options: Options) => printResults(cli, word, options));
}

/** How to sort by the metric that is most likely to decide. */
function bestFirst(names: readonly string[], directions: MetricDirections | undefined): string | undefined {
  const [name] = byImportance(names, directions);
  return name === undefined || isLowerBetter(name, directions) ? name : `-${name}`;
}

async function printResults(cli: Cli, word: string | undefined, options: Options): Promise<void> {
  const run = await findRun(cli, word);
  const state = await currentState(cli, run.folder);
  printTrouble(cli, state);
  const directions = state.jobs[0]?.directions;
  const { jobs, ledger } = readRun(run.folder, state);
  const all = jobTable(jobs, ledger.rows);
  const rows = sortResults(all, options);
  const section = () => resultsSection(rows, { sort: options.sort, all, directions });
  if (options.csv) for (const line of resultsCsv(rows, all)) cli.out(line);
  else if (options.json) printJson(cli, resultsJson(rows));
  else if (options.markdown) cli.out(`${sectionsMarkdown(`Results of ${state.run}`, [section()])}\n`);
  else {
    cli.out(documentText([section()], outWidth(cli), textPage(cli, '`--csv`, ')));
    if (valueNames(rows, 'metrics').length === 0) cli.err('no training has reported a metric yet\n');
    const first = rows.find(({ valid }) => valid === true)?.job;
    const best = first && path.relative(cli.cwd, resultsFolder(run.folder, first));
    const key = bestFirst(valueNames(rows, 'metrics'), directions);
    nextCommands(cli, [
      options.sort === undefined &&
        key !== undefined && [`updraft results ${run.argument} --sort ${key} --top 10`, 'the best ten'],
      best !== undefined &&
        options.sort !== undefined && [`ls ${shellQuote(best)}`, 'what the first one made'],
      [`updraft report ${run.argument}`, 'where the time went'],
    ]);
  }
}
