import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { counted, shellQuote } from '@updraft/base';
import { replaceFile } from '@updraft/base/disk';
import { usageFault } from '@updraft/account/fault';
import {
  comparisonCharts,
  comparisonCsv,
  comparisonPage,
  comparisonSections,
  type GroupedReport,
  groupedReport,
  type ReadLogs,
  sideBySideSection,
  variedParameters,
} from '@updraft/account/report';
import { documentText, sectionsLatex, sectionsMarkdown } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { formOption, forms, textPage, writePage } from '../report/print-report.ts';
import {
  readSource,
  type ReportSource,
  reportSource,
  separateSources,
  sourceName,
} from '../report/report-source.ts';
import { printJson, givenOptions, nextCommands, outWidth } from '../text/phrases.ts';
import { cannotWrite } from '../write-named.ts';

interface Options {
  by?: string;
  metric?: string[];
  json?: true;
  csv?: true;
  markdown?: true;
  latex?: true;
  svg?: string;
  html?: string;
  all?: true;
  valid?: string;
  invalid?: string;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'compare.md', [
    'updraft compare my.log --by site          # time and cost of a valid result at each site',
    'updraft compare cifar10 --by run --latex  # tables for a paper',
  ])
    .argument('[run | log...]', 'runs or HTCondor event logs (default: the latest run)')
    .option(
      '--by <what>',
      'parameters of the matrix, or method, site, gpu, machine, cache, warmth, owner, log, run; several: a,b',
    )
    .option(
      '--metric <names...>',
      'time, slot, gpu, transfer, useful, samples, epoch, gpu-use, setbacks, or a metric of the training, ' +
        'like accuracy',
    )
    .addOption(formOption('--json', 'print JSON'))
    .addOption(formOption('--csv', 'print a row per metric and group'))
    .addOption(formOption('--markdown', 'print Markdown tables'))
    .addOption(formOption('--latex', 'print LaTeX tables (booktabs)'))
    .addOption(formOption('--svg <folder>', 'write charts as SVG files'))
    .addOption(formOption('--html <file>', 'write a page with tables and charts'))
    .option('--all', 'show more than 20 groups')
    .option('--valid <rule>', "when a result is valid, of logs: 'bytes>1M && seconds>600'")
    .option('--invalid <list>', 'jobs of logs with wrong results: a,b,c or a file')
    .action(async (words: string[], options: Options) => {
      const source = await (words.length > 1 ? separateSources(cli, words) : reportSource(cli, words));
      const read = await readSource(cli, source, options);
      const by = options.by ?? defaultBy(words, read);
      const metrics = (options.metric ?? []).flatMap((name) => name.split(','));
      const grouped = groupedReport(read, by, metrics);
      await printComparison(cli, source, read, grouped, options);
      if (Object.keys(options).some((option) => forms.includes(option))) return;
      const again = ['updraft compare', ...words.map(shellQuote), givenOptions(command)];
      const base = again.join(' ').trimEnd();
      nextCommands(cli, [
        [`${base} --latex`, 'the tables for a paper'],
        [`${base} --svg charts`, 'charts as SVG files'],
      ]);
    });
}

/** Several runs or logs are groups; of one run, the combinations of its matrix are. */
function defaultBy(words: readonly string[], { jobs }: ReadLogs): string {
  if (words.length > 1) return 'run';
  const varied = variedParameters(jobs);
  if (varied.length > 0) return varied.join(',');
  throw usageFault(
    'all these jobs have the same parameters: there is nothing to compare',
    'name several runs or logs, or compare by place: updraft compare --by site',
  );
}

async function printComparison(
  cli: Cli,
  source: ReportSource,
  { report }: ReadLogs,
  grouped: GroupedReport,
  options: Options,
): Promise<void> {
  const heading = `Comparison by ${grouped.title}: ${sourceName(source)}`;
  const { all = false } = options;
  const parts = () => [...comparisonSections(grouped, all), ...sideBySideSection(grouped)];
  if (options.json) printJson(cli, grouped);
  else if (options.csv) for (const line of comparisonCsv(grouped)) cli.out(line);
  else if (options.markdown) cli.out(`${sectionsMarkdown(heading, parts())}\n`);
  else if (options.latex) cli.out(`${sectionsLatex(parts())}\n`);
  else if (options.svg !== undefined) await writeCharts(cli, options.svg, grouped);
  else if (options.html !== undefined)
    await writePage(cli, options.html, comparisonPage(heading, grouped, report, parts()));
  else {
    const more = options.by === undefined ? '`--by PARAMETER`, `--csv`, ' : '`--csv`, ';
    cli.out(documentText(parts(), outWidth(cli), textPage(cli, more)));
  }
}

async function writeCharts(cli: Cli, folder: string, grouped: GroupedReport): Promise<void> {
  const target = path.resolve(cli.cwd, folder);
  const charts = comparisonCharts(grouped);
  try {
    await mkdir(target, { recursive: true });
    for (const { file, svg } of charts) await replaceFile(path.join(target, file), `${svg}\n`);
  } catch (cause) {
    throw cannotWrite(target, cause, 'name a folder that you can write to');
  }
  for (const { file } of charts) cli.out(`${path.join(target, file)}\n`);
  cli.err(`wrote ${counted(charts.length, 'chart')}\n`);
}
