import path from 'node:path';
import type { Command } from 'commander';
import { printable } from '@updraft/base';
import type { Fact } from '@updraft/view/document';
import { Fault } from '@updraft/account/fault';
import { openPool } from '../../pool/open-pool.ts';
import { formatMillis } from '@updraft/view/format';
import {
  gatherRecord,
  rehearsalPlan,
  rehearse,
  startRehearsal,
  type RehearsalStep,
  rehearsalSteps,
} from '../../run/rehearse/rehearse-run.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { jobFileOptions, type JobFileOptions, jobFileArgument } from '../job-file-argument.ts';
import { PrintedFault } from '../print-fault.ts';
import { loadLocked } from '../submit/submit-plan.ts';
import { nextCommands, printJson, printPage } from '../text/phrases.ts';

interface Options extends JobFileOptions {
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'checkpoints.md', [
    'updraft rehearse                                      # one job of the job file here',
    'updraft rehearse --pool local --set resources.gpus=0  # on this machine, without a GPU',
  ]);
  jobFileOptions(command)
    .option('--json', 'print JSON')
    .action((where: string, options: Options) => run(cli, where, options));
}

async function run(cli: Cli, where: string, options: Options): Promise<void> {
  const plan = rehearsalPlan((await loadLocked(cli, where, options)).plan);
  const pool = openPool(plan.spec.run.pool, cli);
  const { clock, pid, signal, version } = cli;
  const context = { clock, pid, signal, version, say: (line: string) => cli.err(`${line}\n`) };
  const folder = await startRehearsal(plan, pool, context);
  const name = path.basename(folder);
  cli.err(
    `rehearsing one job as ${name}: it is evicted once during its transfer and once during its training\n`,
  );
  const rehearsal = await rehearse(folder, pool, context).catch((thrown: unknown) => {
    if (!signal.aborted) throw thrown;
    throw new Fault('interrupted', `left ${name}: it continues without evictions`, {
      fix: `to stop it: updraft stop ${name}`,
    });
  });
  const proofs = rehearsalSteps(await gatherRecord(plan, rehearsal));
  const failed = proofs.filter(({ result }) => result === 'failed');
  if (options.json) printJson(cli, { ok: failed.length === 0, run: name, folder, proofs });
  else printPage(cli, [{ facts: proofs.map(proofFact), indent: '' }]);
  nextCommands(cli, [
    failed.length > 0 && [`updraft why ${name}`, 'what happened to its attempts'],
    [`updraft logs ${name}`, 'what the training printed'],
    failed.length === 0 && [
      `updraft submit --canary 1,10${jobFileArgument(where, options)}`,
      'submit all jobs, a few first',
    ],
  ]);
  if (failed.length > 0)
    throw options.json ? new PrintedFault(rehearsalFailed(failed)) : rehearsalFailed(failed);
}

const marks = { shown: '✓', failed: '✗', 'not shown': '–' } as const;

/** What was proven, and the fix of what was not. */
const proofFact = ({ name, result, said, fix, lostMillis }: RehearsalStep): Fact => {
  const unshown = result === 'not shown' ? ' (not shown)' : '';
  const lost = lostMillis === undefined ? '' : `; ${formatMillis(lostMillis)} lost`;
  const proven = `${printable(said)}${unshown}${lost}`;
  return [`${marks[result]} ${name}`, proven, ...(fix === undefined ? [] : [`fix: ${printable(fix)}`])];
};

function rehearsalFailed(failed: readonly RehearsalStep[]): Fault {
  const [first] = failed;
  return new Fault('jobs-failed', `not proven: ${failed.map(({ name }) => name).join(', ')}`, {
    fix: first?.fix,
  });
}
