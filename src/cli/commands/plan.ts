import type { Command } from 'commander';
import { counted } from '../../base/counted.ts';
import { asFault } from '../../fault/fault.ts';
import { loadPlan } from '../../job/load-plan.ts';
import type { Plan } from '../../job/plan.ts';
import { openPool } from '../../pool/open-pool.ts';
import type { Policy } from '../../recovery/policy.ts';
import type { Cli } from '../cli.ts';
import { jobFileOptions, type JobFileOptions, jobFileArgument, loadOptions } from '../job-file-argument.ts';
import { findSecrets } from '../../job/secrets.ts';
import { planText } from '../submit/plan-text.ts';
import { nextCommands, textWidth } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  jobFileOptions(command)
    .option('--json', 'print the whole plan as JSON, with every job')
    .option('--submit-file', 'print what the scheduler would get: a submit file or batch script')
    .action(async (where: string, options: JobFileOptions & { json?: true; submitFile?: true }) => {
      const plan = await loadPlan(where, loadOptions(cli, options));
      if (options.json) {
        cli.out(`${JSON.stringify(plan, null, 2)}\n`);
        return;
      }
      if (options.submitFile) {
        const { files, shown = '' } = await openPool(plan.spec.run.pool, cli).render(plan, runName(plan));
        cli.out(files[shown] ?? `# the pool "${plan.spec.run.pool}" needs no submit file\n`);
        return;
      }
      cli.out(planText(plan, await policyFor(cli, plan), await findSecrets(plan, cli.env), textWidth(cli)));
      const hasFile = await printRendering(cli, plan);
      nextCommands(cli, [
        [`updraft run${jobFileArgument(where, options)}`, 'submit it and watch'],
        [`updraft submit${jobFileArgument(where, options)}`, 'submit it and come back later'],
        hasFile && [
          `updraft plan${jobFileArgument(where, options)} --submit-file`,
          'what the scheduler would get',
        ],
        [`updraft plan${jobFileArgument(where, options)} --json`, 'the same with every job, for programs'],
      ]);
    });
}

/** What the plan's pool does about failures, where Updraft knows that pool. */
async function policyFor(cli: Cli, plan: Plan): Promise<Policy | undefined> {
  try {
    return await openPool(plan.spec.run.pool, cli).policy(plan);
  } catch (thrown) {
    if (asFault(thrown).kind !== 'pool-unreachable') throw thrown;
    return undefined;
  }
}

const runName = ({ spec }: Plan): string => `${spec.name}-<id>`;

/** Names what the scheduler would get, or says why it cannot be made here; returns whether there is such a file. */
async function printRendering(cli: Cli, plan: Plan): Promise<boolean> {
  const pool = openPool(plan.spec.run.pool, cli);
  if (pool.traits.runsHere) return false;
  try {
    const { files, shown = '', summary } = await pool.render(plan, runName(plan));
    const lines = counted((files[shown] ?? '').trimEnd().split('\n').length, 'line');
    cli.out(`  submits   ${shown}, ${lines}, ${summary}\n`);
    return true;
  } catch (thrown) {
    const { kind, message, fix } = asFault(thrown);
    if (kind !== 'pool-unreachable') throw thrown;
    cli.err(`what would be submitted cannot be shown: ${message}\n  fix: ${fix ?? ''}\n`);
    return false;
  }
}
