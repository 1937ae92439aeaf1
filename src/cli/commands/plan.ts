import type { Command } from 'commander';
import { counted } from '@updraft/base';
import { asFault } from '../../fault/fault.ts';
import { loadPlan } from '../../job/load-plan.ts';
import type { Plan } from '../../job/plan.ts';
import { openPool } from '../../pool/open-pool.ts';
import type { Rendering } from '../../pool/pool.ts';
import type { Policy } from '../../recovery/policy.ts';
import { earlierInterruptions } from '../../run/earlier-interruptions.ts';
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
      const rendering = await renderingOf(cli, plan);
      const { shown = '', files, summary } = rendering ?? {};
      const submitFile = files?.[shown];
      if (options.submitFile) {
        cli.out(submitFile ?? '');
        return;
      }
      const isSaved = plan.spec.train.checkpoint !== undefined;
      const interruptions = isSaved ? await earlierInterruptions(plan) : undefined;
      const more = { secrets: await findSecrets(plan, cli.env), sent: rendering?.sent ?? [], interruptions };
      cli.out(planText(plan, await policiesFor(cli, plan), more, textWidth(cli)));
      if (submitFile !== undefined) cli.out(`  submits   ${shown}, ${lineCount(submitFile)}, ${summary}\n`);
      nextCommands(cli, [
        [`updraft run${jobFileArgument(where, options)}`, 'submit it and watch'],
        [`updraft submit${jobFileArgument(where, options)}`, 'submit it and come back later'],
        submitFile !== undefined && [
          `updraft plan${jobFileArgument(where, options)} --submit-file`,
          'what the scheduler would get',
        ],
        [`updraft plan${jobFileArgument(where, options)} --json`, 'the same with every job, for programs'],
      ]);
    });
}

const lineCount = (text: string): string => counted(text.trimEnd().split('\n').length, 'line');

/** What the plan's pool does about failures of each variant, where Updraft knows that pool. */
async function policiesFor(cli: Cli, plan: Plan): Promise<Policy[]> {
  const pool = openPool(plan.spec.run.pool, cli);
  try {
    return await pool.policies(plan);
  } catch (thrown) {
    if (asFault(thrown).kind !== 'pool-unreachable') throw thrown;
    return [];
  }
}

/** What the scheduler would get; without a scheduler, says why it cannot be shown. */
async function renderingOf(cli: Cli, plan: Plan): Promise<Rendering | undefined> {
  const pool = openPool(plan.spec.run.pool, cli);
  if (pool.traits.runsHere) return undefined;
  try {
    return await pool.render(plan, `${plan.spec.name}-<id>`);
  } catch (thrown) {
    const { kind, message, fix } = asFault(thrown);
    if (kind !== 'pool-unreachable') throw thrown;
    cli.err(`what would be submitted cannot be shown: ${message}\n  fix: ${fix ?? ''}\n`);
    return undefined;
  }
}
