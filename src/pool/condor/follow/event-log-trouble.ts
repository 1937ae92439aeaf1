import type { AccountTrouble } from '../../../journal/state.ts';

/** How an event log was found. */
export interface LogCondition {
  path: string;
  clusters: number[];
  /** Its size now; undefined when it is not there. */
  bytes: number | undefined;
  /** Whether it has told anything of the run, now or earlier. */
  told: boolean;
  /** What happened to the file while it was followed. */
  happened: 'shrank' | 'replaced' | undefined;
  /** Whether a job's first event is not its submission. */
  headless: boolean;
}

/** Why the log of a submitted run may not tell everything; undefined when nothing is wrong with it. Pure. */
export function eventLogTrouble(log: LogCondition): AccountTrouble | undefined {
  const what = troubleOf(log);
  if (what === undefined) return undefined;
  const clusters = log.clusters.join(' ');
  return {
    message: `HTCondor's log of the run, ${log.path}, ${what}`,
    fix: `the jobs themselves go on: see \`condor_q ${clusters}\` and \`condor_history ${clusters}\`; put the log back if you have it, and leave it alone while jobs are in the queue`,
    ...(log.told ? {} : { isAllLost: true }),
  };
}

function troubleOf({ bytes, told, happened, headless }: LogCondition): string | undefined {
  const kept = told ? 'what it told before is kept here' : 'how the jobs stand is not known from it';
  if (bytes === undefined) return `is gone: ${kept}`;
  if (happened === 'shrank') return `was cut short: ${kept}, what nobody had read yet is not`;
  if (happened === 'replaced')
    return `was replaced by another file: ${kept}, but HTCondor goes on writing to the old one`;
  if (!told) return `does not name the run's jobs: ${kept}`;
  if (headless) return 'has lost its beginning: jobs may have got further than is shown';
  return undefined;
}
