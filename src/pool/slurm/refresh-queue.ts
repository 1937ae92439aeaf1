import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, mapLimited } from '@updraft/base';
import { attemptFolder } from '@updraft/account/run-folder';
import type { Plan } from '../../job/plan.ts';
import {
  damageOf,
  type Entry,
  type EntrySource,
  isOpen,
  type JobState,
  JournalTail,
  loadRun,
  openJournal,
  type Outcome,
  type SourceUpdate,
} from '@updraft/account/journal';
import { readAttemptExit, withOutcomes } from '../attempt-exit.ts';
import { isOver, judgeTask, type QueueRow } from './judge-task.ts';
import { slurmFiles, taskJournal } from './slurm-files.ts';
import type { SlurmTools } from './slurm-tools.ts';
import { expandIndices, latestTasks, taskName } from './tasks.ts';

/** A node's last writes may take a moment to be visible here. */
const settleMs = 2000;
const maxLogLines = 5;

/**
 * Asks Slurm once about the jobs that have not ended by their own journals, and records there what it adds: the run's
 * folder then has the complete state.
 */
export async function refreshFromQueue(
  runFolder: string,
  plan: Plan,
  tools: SlurmTools,
  clock: Clock,
): Promise<void> {
  const before = await openJobs(runFolder, plan);
  const tasks = await latestTasks(runFolder);
  const known = [...before.values()].flatMap((job) => {
    const task = tasks.get(job.id);
    return task === undefined ? [] : [{ id: job.id, task }];
  });
  const rows = await askQueue(tools, [...new Set(known.map(({ task }) => task.array))]);
  if (known.some(({ task }) => isOver(rows.get(taskName(task))))) await clock.sleep(settleMs);
  const after = await openJobs(runFolder, plan);
  for (const { id, task } of known) {
    const job = after.get(id);
    // The answer is not about a job that has changed since.
    if (job === undefined || isOther(job, before.get(id))) continue;
    const news = judgeTask(job, rows.get(taskName(task)), await logTail(runFolder, id));
    if (news.length === 0) continue;
    const file = taskJournal(runFolder, id);
    await mkdir(path.dirname(file), { recursive: true });
    await using journal = await openJournal(file, clock);
    for (const body of news) {
      // The folders of earlier attempts determine the number of the next one.
      if (body.kind === 'attempt-started')
        await mkdir(attemptFolder(runFolder, id, body.attempt), { recursive: true });
      await journal.append(body);
    }
  }
}

/** The last lines that Slurm and the job's script printed. */
async function logTail(runFolder: string, job: string): Promise<string> {
  const file = path.join(runFolder, slurmFiles.said, `${job}.log`);
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-maxLogLines).join('\n');
}

async function openJobs(runFolder: string, plan: Plan): Promise<Map<string, JobState>> {
  const { jobs } = await loadRun(runFolder, { source: taskSource(runFolder, plan) });
  return new Map(
    // One that Slurm holds has ended for us, and may still be cancelled or released.
    jobs.filter((job) => isOpen(job) && !job.isKeptBack).map((job) => [job.id, job]),
  );
}

const isOther = (now: JobState, before: JobState | undefined): boolean =>
  now.round !== before?.round || now.attempts.at(-1)?.number !== before?.attempts.at(-1)?.number;

/**
 * What squeue says about arrays, by `ARRAY_INDEX`, and sacct, where there is accounting, about jobs that squeue has
 * forgotten. Plain columns: the output of `--json` differs between releases.
 */
export async function askQueue(tools: SlurmTools, arrays: readonly number[]): Promise<Map<string, QueueRow>> {
  if (arrays.length === 0) return new Map();
  const ids = arrays.join(',');
  const listed = await tools
    .ask('squeue', ['-h', '-a', '-r', '-t', 'all', '-j', ids, '-o', '%F|%K|%T|%r'])
    .catch((error: unknown) => {
      // All of them have left the queue.
      if (/invalid job id/i.test(String(error))) return '';
      throw error;
    });
  // Fails without accounting; there is no other source.
  const kept = await tools.ask('sacct', ['-n', '-X', '-P', '-j', ids, '-o', 'JobID,State']).catch(() => '');
  return new Map([...readAccounts(kept), ...parseSqueue(listed)]);
}

/** Parses squeue's output: array, indices, state, reason. */
export function parseSqueue(text: string): [id: string, row: QueueRow][] {
  return linesOf(text).flatMap((line) => {
    const [array = '', indices = '', state = '', reason = ''] = line.split('|');
    return rowsOf(array, indices, { state, reason });
  });
}

const rowsOf = (array: string, indices: string, row: QueueRow): [id: string, row: QueueRow][] =>
  expandIndices(indices).map((index) => [`${array}_${index}`, row]);

/** Parses sacct's output: `12_3|CANCELLED by 1000`, and `12_[4-9]|PENDING` for jobs that never started. */
export function readAccounts(text: string): [id: string, row: QueueRow][] {
  return linesOf(text).flatMap((line) => {
    const [id = '', words = ''] = line.split('|');
    const [array = '', indices = ''] = id.split('_');
    const [state = ''] = words.split(' ');
    return rowsOf(array, indices, { state, reason: words });
  });
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

const maxParallel = 64;

/** The entries of the jobs' own journals. Reads only the run's folder; does not ask Slurm. */
export function taskSource(runFolder: string, { jobs }: Pick<Plan, 'jobs'>): EntrySource {
  const tails = jobs.map(({ id }) => new JournalTail(taskJournal(runFolder, id)));
  const outcomes = new Map<string, Outcome>();
  return {
    paths: tails.map(({ path }) => path),
    async read(): Promise<SourceUpdate> {
      const grown = await mapLimited(tails, maxParallel, (tail) => tail.read());
      const reported = grown.flatMap(({ entries }) => entries);
      const entries = await Promise.all(reported.map((entry) => withAgentExit(runFolder, entry)));
      return { entries: withOutcomes(entries, outcomes), damaged: damageOf(runFolder, tails) };
    },
  };
}

/** The script knows only the exit code; the agent's journal knows why. */
async function withAgentExit(runFolder: string, entry: Entry): Promise<Entry> {
  if (entry.kind !== 'attempt-ended' || entry.exit === null || entry.exit === 0) return entry;
  const { job, attempt, exit, outcome } = entry;
  const end = await readAttemptExit(attemptFolder(runFolder, job, attempt), { code: exit, signal: null });
  // If Slurm ended the training, that is the cause, however the training reacted to the signal.
  if (outcome === 'evicted' && end.outcome !== 'evicted')
    return { ...entry, fault: { kind: 'evicted', message: 'Slurm took the node back' } };
  return { ...entry, ...end, exit };
}
