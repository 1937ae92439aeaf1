import { type Command, Option } from 'commander';
import { runReport, runText, sections } from '@updraft/account/report';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import type { FoundRun } from '../find-run.ts';
import type { Chart } from '@updraft/view/document';
import { readPlan } from '../../pool/pool.ts';
import { readRunState } from '../../run/run-states.ts';
import { logsArgument } from '../named-logs.ts';
import { readSource, reportSource, sourceName } from '../report/report-source.ts';
import { formOption, type ReportForm, printReport, sectionChoice, textPage } from '../report/print-report.ts';
import { failureCommands } from '../run-view/after-failure.ts';
import { currentState } from '../run-view/current-state.ts';
import { printJson, givenOptions, nextCommands } from '../text/phrases.ts';

interface Flags extends ReportForm {
  valid?: string;
  invalid?: string;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'report.md', [
    'updraft report                            # the latest run',
    'updraft report my.log --html report.html  # any HTCondor event log, with charts',
    'updraft report my.log --by site           # which site, owner, log, machine, GPU or parameter lost most',
  ])
    .argument(
      '[run | log...]',
      'folders, ids or names of runs (default: the latest), HTCondor event logs (- for stdin), or a DAG file',
    )
    .addOption(formOption('--json', 'print JSON'))
    .addOption(formOption('--markdown', 'print Markdown tables'))
    .addOption(formOption('--csv', 'print a row per attempt; with --jobs, per job'))
    .addOption(formOption('--html <file>', 'write a page with tables and charts'))
    .option('--jobs', 'add a row for every job')
    .addOption(
      new Option(
        '--by <what>',
        'group jobs by owner, log, run, method or a parameter, attempts by site, machine, gpu, cache or warmth',
      ).conflicts('jobs'),
    )
    .option('--all', 'add slowest jobs, all sites, machines and groups')
    .option('--valid <rule>', "when a result is valid: 'bytes>1M && seconds>600'")
    .option('--invalid <list>', 'jobs or DAG nodes with wrong results: a,b,c or a file')
    .action(async (words: string[], flags: Flags) => {
      const source = await reportSource(cli, words);
      const isPlain = Object.keys(flags).every((flag) => plainFlags.has(flag));
      if ('run' in source && isPlain) return printRun(cli, source.run, flags, givenOptions(command));
      const wantsOwners = flags.by?.split(',').includes('owner') === true;
      const read = await readSource(cli, source, { ...flags, wantsOwners });
      const charts = flags.html !== undefined && 'run' in source ? await curvesOf(source.run) : [];
      await printReport(cli, sourceName(source), read, flags, charts);
      if (Object.keys(flags).length > 0 || words.includes('-')) return;
      const named = logsArgument(words);
      nextCommands(cli, [
        [`updraft report ${named} --html report.html`, 'the same as a page with charts'],
        [`updraft report ${named} --jobs`, 'a row for every job'],
        [`updraft report ${named} --csv`, 'every attempt for a spreadsheet'],
        [`updraft report ${named} --json`, 'the figures as JSON'],
      ]);
    });
}

const curvesOf = async ({ folder }: FoundRun): Promise<Chart[]> =>
  (await import('../../dashboard/page.ts')).metricCharts(folder, await readRunState(folder));

const plainFlags = new Set(['json', 'all', 'jobs']);

async function printRun(cli: Cli, run: FoundRun, form: ReportForm, given: string): Promise<void> {
  const state = await currentState(cli, run.folder);
  // A copy of a run may lack its plan.
  const plan = await readPlan(run.folder).catch(() => undefined);
  const report = runReport(run.folder, state, plan?.places);
  if (form.json === true) {
    printJson(cli, report);
    return;
  }
  cli.out(`${runText(report, sections(report, sectionChoice(form, report.jobRows)), textPage(cli))}\n`);
  const named = `${run.argument} ${given}`.trimEnd();
  nextCommands(cli, [
    ...failureCommands(state, run),
    [`updraft status ${run.argument}`, 'the state of each job'],
    [`updraft report ${named} --html report.html`, 'where the time went, with charts'],
    [`updraft report ${named} --json`, 'the figures as JSON'],
  ]);
}
