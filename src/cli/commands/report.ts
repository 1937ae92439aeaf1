import type { Command } from 'commander';
import { summary } from '../../report/summary.ts';
import { reportText } from '../../report/text.ts';
import type { Cli } from '../cli.ts';
import { findRun } from '../find-run.ts';
import { glyphsFor } from '../glyphs.ts';
import { nextCommands } from '../next-commands.ts';
import { readRunState } from '../../run/run-states.ts';

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .option('--json', 'the same figures as one object with stable keys')
    .addHelpText(
      'after',
      `
Every second of every attempt is in one column: queued, a phase, overhead (starting the agent and noticing its end)
or unknown (nobody spoke). Works from the run's folder alone, also on a copy of it.

Examples:
  $ updraft report                                       the latest run
  $ updraft report runs/cifar10-a1b2c3 --json | jq .usefulShare

Exit codes: 0 shown, 2 no such run.`,
    )
    .action(async (word: string | undefined, { json = false }: { json?: boolean }) => {
      const run = await findRun(cli.cwd, word);
      const report = summary(await readRunState(run.folder));
      if (json) {
        cli.out(`${JSON.stringify(report)}\n`);
        return;
      }
      const width = cli.outIsTerminal ? cli.columns : 132;
      cli.out(`${reportText(report, { width, bar: glyphsFor(cli.env).done })}\n`);
      nextCommands(cli, [
        [`updraft status ${run.argument}`, 'how each job stands'],
        [`updraft report ${run.argument} --json`, 'the figures for a program'],
      ]);
    });
}
