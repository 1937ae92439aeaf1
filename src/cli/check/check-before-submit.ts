import { Fault } from '../../fault/fault.ts';
import type { Plan } from '../../job/plan.ts';
import type { SourceFile } from '../../job/source-file.ts';
import { findEarlier } from '../../run/find-earlier.ts';
import type { Cli } from '../cli.ts';
import { counted } from '../text/words.ts';
import { checkPlan } from './check-plan.ts';
import { countFindings, findingLines } from './check-text.ts';

/**
 * The quick check before a new run is made: refuses what would surely fail, and only mentions the rest. A run that
 * goes on has been checked when it was made.
 */
export async function checkBeforeSubmit(
  cli: Cli,
  words: string,
  job: { plan: Plan; source: SourceFile },
  isNew: boolean,
): Promise<void> {
  const { same } = await findEarlier(job.plan);
  if (same !== undefined && !isNew) return;
  const { findings } = await checkPlan(cli, job, { quick: true });
  const errors = findings.filter(({ level }) => level === 'error');
  const rest = findings.filter(({ level }) => level === 'warning');
  const again = `updraft check${words}`;
  if (errors.length > 0) {
    cli.err(`${findingLines(errors, cli.columns).join('\n')}\n`);
    throw new Fault(
      'file-invalid',
      `${job.plan.file}: ${counted(errors.length, 'error')}, so nothing was queued`,
      {
        fix: `correct ${errors.length === 1 ? 'it' : 'them'}, or queue it all the same with --no-check`,
        about: job.plan.file,
      },
    );
  }
  if (rest.length > 0) cli.err(`${countFindings(rest)}; \`${again}\` says more\n`);
}
