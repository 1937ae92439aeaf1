import { succeeds } from '@updraft/base';
import { access, constants } from 'node:fs/promises';
import type { Command } from 'commander';
import { Fault } from '@updraft/account/fault';
import type { RunState } from '@updraft/account/journal';
import { openPool } from '../../pool/open-pool.ts';
import { readRunState } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun, type FoundRun } from '../find-run.ts';
import { assertSucceeded, failureCommands } from '../run-view/after-failure.ts';
import { watchKeepingGoing, watchRun } from '../run-view/watch-run.ts';
import { printUnsupervised } from '../run-view/current-state.ts';
import { nextCommands } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, {
    page: 'progress.md',
    examples: [
      ['updraft watch', 'the latest run; q leaves the view'],
      ['updraft watch cifar10 --json', 'a line of JSON for each change'],
    ],
  });
  command
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .option('--json', 'print a line of JSON for each change')
    .action(async (word: string | undefined, { json = false }: { json?: boolean }) => {
      const run = await findRun(cli, word);
      const state = await watch(cli, run, { json });
      if (!json)
        nextCommands(cli, [
          state.endedAt === undefined
            ? [`updraft watch ${run.argument}`, 'watch again: the run continues']
            : [`updraft report ${run.argument}`, 'where the time went'],
          ...(await failureCommands(state, run)),
          [`updraft logs ${run.argument}`, 'what the training printed'],
        ]);
      if (cli.signal.aborted) throw new Fault('interrupted', 'left the view; the run continues');
      assertSucceeded(state, run.argument);
    });
}

/** Whoever may write to the run also keeps it going; others only look, and so do those who did not name it. */
async function watch(cli: Cli, { folder, isAbove }: FoundRun, options: { json: boolean }): Promise<RunState> {
  const before = await readRunState(folder);
  const isOurs = await succeeds(access(folder, constants.W_OK));
  if (before.endedAt === undefined && isOurs && isAbove === undefined)
    return await watchKeepingGoing(cli, folder, openPool(before.pool, cli), options);
  await printUnsupervised(cli, folder, before);
  return await watchRun(cli, folder, options);
}
