import path from 'node:path';
import type { Command } from 'commander';
import { runFiles } from '@updraft/account/run-folder';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { jobFileArgument } from '../job-file-argument.ts';
import { assertSucceeded, failureCommands } from '../run-view/after-failure.ts';
import { watchToEnd, watchKeepingGoing, watchRun } from '../run-view/watch-run.ts';
import { submitOptions } from '../submit/options.ts';
import { newRun, type SubmitCliOptions, submitPlan, printSubmitted } from '../submit/submit-plan.ts';
import { nextCommands } from '../text/phrases.ts';
import { succeeds } from '@updraft/base';
import { access, constants } from 'node:fs/promises';
import { Fault } from '@updraft/account/fault';
import type { RunState } from '@updraft/account/journal';
import { openPool } from '../../pool/open-pool.ts';
import { readRunState } from '../../run/run-states.ts';
import { findRun, type FoundRun } from '../find-run.ts';
import { printUnsupervised } from '../run-view/current-state.ts';

interface Options extends SubmitCliOptions {
  json?: true;
  detach?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'run-folder.md', [
    'updraft run examples/cifar10                # Ctrl-C leaves the view, not the run',
    'updraft run --pool condor --set run.jobs=2  # two jobs on HTCondor',
  ]);
  submitOptions(command)
    .option('--detach', 'do not watch, like `updraft submit`')
    .option('--json', 'print a line of JSON for each change')
    .action((where: string, options: Options) => run(cli, where, options));
}

async function run(cli: Cli, where: string, options: Options): Promise<void> {
  const submitted = await submitPlan(cli, where, options);
  const { folder, argument } = submitted;
  if (options.detach) {
    await printSubmitted(cli, submitted, jobFileArgument(where, options), options.json ?? false);
    return;
  }
  const state = await watchToEnd(cli, submitted, options.json);
  nextCommands(cli, [
    ...failureCommands(state, submitted),
    state.tally.success > 0 && [
      `ls ${path.join(path.relative(cli.cwd, folder), runFiles.results)}`,
      'the results, one folder per job',
    ],
    [`updraft report ${argument}`, 'where the time went'],
    [newRun('run', jobFileArgument(where, options)), 'run it all again'],
  ]);
  assertSucceeded(state, argument);
}

/** `updraft submit`. */
export function configureSubmit(command: Command, cli: Cli): void {
  addHelp(command, 'run-folder.md', [
    'updraft submit examples/cifar10  # the same command later resumes the run',
    'updraft submit --canary 1,10     # one job, then ten, then the rest',
  ]);
  submitOptions(command)
    .option('--json', 'print JSON')
    .action(async (where: string, options: SubmitCliOptions & { json?: true }) => {
      const submitted = await submitPlan(cli, where, options);
      await printSubmitted(cli, submitted, jobFileArgument(where, options), options.json ?? false);
    });
}

/** `updraft watch`. */
export function configureWatch(command: Command, cli: Cli): void {
  addHelp(command, 'progress.md', [
    'updraft watch                 # the latest run; q leaves the view',
    'updraft watch cifar10 --json  # a line of JSON for each change',
  ])
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
          ...failureCommands(state, run),
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
