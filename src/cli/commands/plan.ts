import type { Command } from 'commander';
import { counted } from '@updraft/base';
import { asFault } from '@updraft/account/fault';
import { loadPlan } from '../../job/load-plan.ts';
import type { Plan } from '../../job/plan.ts';
import { openPool } from '../../pool/open-pool.ts';
import type { Rendering } from '../../pool/pool.ts';
import type { Policy } from '@updraft/account/recovery';
import { earlierInterruptions, withExperience } from '../../run/submit-run.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import {
  jobFileAbove,
  jobFileArgument,
  jobFileOptions,
  type JobFileOptions,
  loadOptions,
} from '../job-file-argument.ts';
import { findSecrets } from '../../job/secrets.ts';
import { planPage } from '../submit/plan-text.ts';
import { printPage } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'job-file.md', [
    'updraft plan                            # jobs, files, data, disk, success rule',
    'updraft plan experiments/resnet --json  # every job, for a program',
  ]);
  jobFileOptions(command)
    .option('--json', 'print the whole plan as JSON, with every job')
    .option('--submit-file', 'print what the scheduler would get: a submit file or batch script')
    .action(async (named: string, options: JobFileOptions & { json?: true; submitFile?: true }) => {
      const where = await jobFileAbove(cli, named);
      const loaded = await loadPlan(where, loadOptions(cli, options));
      if (options.json) {
        cli.out(`${JSON.stringify(loaded, null, 2)}\n`);
        return;
      }
      const plan = await withExperience(loaded, openPool(loaded.spec.run.pool, cli));
      const rendering = await renderingOf(cli, plan);
      const { shown = '', files, summary } = rendering ?? {};
      const submitFile = files?.[shown];
      if (options.submitFile) {
        cli.out(submitFile ?? '');
        return;
      }
      const isSaved = plan.spec.train.checkpoint !== undefined;
      const interruptions = isSaved ? await earlierInterruptions(plan) : undefined;
      const submits = submitFile && `${shown}, ${lineCount(submitFile)}, ${summary}`;
      const secrets = await findSecrets(plan, cli.env);
      const more = { secrets, sent: rendering?.sent ?? [], interruptions, submits };
      printPage(cli, planPage(plan, await policiesFor(cli, plan), more), [
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
