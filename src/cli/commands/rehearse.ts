import path from 'node:path';
import type { Command } from 'commander';
import { pad, printable, wrapLines } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import { openPool } from '../../pool/open-pool.ts';
import { formatMillis } from '../../report/format.ts';
import { gatherRecord, rehearsalPlan, rehearse, startRehearsal } from '../../run/rehearse/rehearse-run.ts';
import { type RehearsalStep, rehearsalSteps } from '../../run/rehearse/rehearsal-steps.ts';
import type { Cli } from '../cli.ts';
import { jobFileOptions, type JobFileOptions, jobFileArgument } from '../job-file-argument.ts';
import { PrintedFault } from '../print-fault.ts';
import { loadLocked } from '../submit/submit-plan.ts';
import { nextCommands, textWidth } from '../text/phrases.ts';

interface Options extends JobFileOptions {
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
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
  if (options.json) cli.out(`${JSON.stringify({ ok: failed.length === 0, run: name, folder, proofs })}\n`);
  else cli.out(`${wrapLines(proofText(proofs), textWidth(cli))}\n`);
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

/** A line for each proof, and a fix under each failed one. */
function proofText(proofs: readonly RehearsalStep[]): string {
  const width = Math.max(...proofs.map(({ name }) => name.length));
  return proofs
    .flatMap(({ name, result, said, fix, lostMillis }) => [
      [
        `${marks[result]} ${pad(name, width)}  ${printable(said)}`,
        ...(result === 'not shown' ? [' (not shown)'] : []),
        ...(lostMillis === undefined ? [] : [`; ${formatMillis(lostMillis)} lost`]),
      ].join(''),
      ...(fix === undefined ? [] : [`  ${pad('', width)}  fix: ${printable(fix)}`]),
    ])
    .join('\n');
}

function rehearsalFailed(failed: readonly RehearsalStep[]): Fault {
  const [first] = failed;
  return new Fault('jobs-failed', `not proven: ${failed.map(({ name }) => name).join(', ')}`, {
    ...(first?.fix === undefined ? {} : { fix: first.fix }),
  });
}
