import { mapLimited } from '../../base/map-limited.ts';
import { attemptFolder } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import type { EntrySource, News } from '../../journal/load-run.ts';
import type { Entry, Outcome } from '../../journal/entry.ts';
import { JournalTail } from '../../journal/tail.ts';
import { attemptEnd } from '../attempt-end.ts';
import { withOutcomes } from '../with-outcomes.ts';
import { taskJournal } from './slurm-files.ts';

const readAtOnce = 64;

/** The entries that the jobs' own journals on the shared file system tell. The run's folder is enough: nobody is asked. */
export function taskSource(runFolder: string, { jobs }: Pick<Plan, 'jobs'>): EntrySource {
  const tails = jobs.map(({ id }) => new JournalTail(taskJournal(runFolder, id)));
  const outcomes = new Map<string, Outcome>();
  return {
    paths: tails.map(({ path }) => path),
    async read(): Promise<News> {
      const grown = await mapLimited(tails, readAtOnce, (tail) => tail.read());
      const told = grown.flatMap(({ entries }) => entries);
      const entries = await Promise.all(told.map((entry) => explained(runFolder, entry)));
      return {
        entries: withOutcomes(entries, outcomes),
        garbled: grown.reduce((sum, { garbled }) => sum + garbled, 0),
      };
    },
  };
}

/** The script knows the exit code alone; the agent's journal knows why. */
async function explained(runFolder: string, entry: Entry): Promise<Entry> {
  if (entry.kind !== 'attempt-ended' || entry.exit === null || entry.exit === 0) return entry;
  const { job, attempt, exit, outcome } = entry;
  const end = await attemptEnd(attemptFolder(runFolder, job, attempt), { code: exit, signal: null });
  // Whatever a training that Slurm ended did with the signal, that is what it ended of.
  if (outcome === 'evicted' && end.outcome !== 'evicted')
    return { ...entry, fault: { kind: 'evicted', message: 'Slurm took the node back' } };
  return { ...entry, ...end, exit };
}
