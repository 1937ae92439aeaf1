import { counted, printable } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { jobLabel } from '@updraft/account/parameters';
import { endedBadly, type JobState, type RunState } from '@updraft/account/journal';
import type { FoundRun } from '../find-run.ts';

/** The commands for a run with failed jobs; none where no job has failed. */
export function failureCommands({ jobs }: RunState, { argument }: FoundRun): (readonly [string, string])[] {
  const [first, ...others] = jobs.filter(endedBadly);
  if (first === undefined) return [];
  const job = others.length === 0 ? ` ${first.id}` : '';
  return [
    [`updraft why ${argument}${job}`, 'why it failed, and how to fix it'],
    [`updraft retry ${argument} --dry-run`, 'what a retry would do, and what must change first'],
  ];
}

/** Throws when an ended run has jobs without a valid result. */
export function assertSucceeded(state: RunState, argument: string): void {
  const { tally, run, jobs, endedAt } = state;
  if (endedAt === undefined || tally.success === tally.total) return;
  const failed = jobs.filter(endedBadly);
  const kept = jobs.filter(({ isKeptBack }) => isKeptBack).length;
  const missing = tally.total - tally.success - kept;
  const message =
    kept > 0
      ? `${canaryEnd(failed)}; the other ${kept === 1 ? 'job' : `${kept} jobs`} of ${run} ` +
        `${kept === 1 ? 'was' : 'were'} never queued`
      : tally.total === 1
        ? `the job of ${run} has no valid result`
        : `${missing} of ${counted(tally.total, 'job')} of ${run} ${missing === 1 ? 'has' : 'have'} no valid result`;
  throw new Fault('jobs-failed', message, {
    about: run,
    fix:
      `\`updraft why ${argument}\` explains it, \`updraft retry ${argument}\` tries ` +
      `again${kept > 0 ? ', and the others follow after valid results' : ''}`,
  });
}

function canaryEnd(failed: readonly JobState[]): string {
  const [first, ...others] = failed;
  const fault = first?.attempts.at(-1)?.fault;
  const said = fault === undefined ? (first?.outcome ?? '') : printable(fault.message);
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `job ${printable(jobLabel(first?.id ?? '', first?.name))}${more} of the canary failed (${said})`;
}
