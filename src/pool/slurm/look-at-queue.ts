import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { attemptFolder } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { openJournal } from '../../journal/file.ts';
import { loadRun } from '../../journal/load-run.ts';
import type { JobState } from '../../journal/state.ts';
import { askQueue } from './ask-queue.ts';
import { isOver, judgeTask } from './judge-task.ts';
import { slurmFiles, taskJournal } from './slurm-files.ts';
import type { SlurmTools } from './slurm-tools.ts';
import { latestTasks, taskName } from './task-ids.ts';
import { taskSource } from './task-source.ts';

/** What a node wrote last may take a moment to be seen here. */
const settleMs = 2000;
const wordLines = 5;

/**
 * Asks the scheduler once about the jobs that have not ended by their own account, and writes what it adds into their
 * journals: the run's folder then tells all, to everybody.
 */
export async function lookAtQueue(
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
    // What has moved on since the question was asked is not what the answer is about.
    if (job === undefined || isOther(job, before.get(id))) continue;
    const news = judgeTask(job, rows.get(taskName(task)), await lastWords(runFolder, id));
    if (news.length === 0) continue;
    const file = taskJournal(runFolder, id);
    await mkdir(path.dirname(file), { recursive: true });
    await using journal = await openJournal(file, clock);
    for (const body of news) {
      // The number of the next attempt is told by the folders of those before.
      if (body.kind === 'attempt-started')
        await mkdir(attemptFolder(runFolder, id, body.attempt), { recursive: true });
      await journal.append(body);
    }
  }
}

/** The end of what Slurm and the job's script printed. */
async function lastWords(runFolder: string, job: string): Promise<string> {
  const file = path.join(runFolder, slurmFiles.said, `${job}.log`);
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-wordLines).join('\n');
}

async function openJobs(runFolder: string, plan: Plan): Promise<Map<string, JobState>> {
  const { jobs } = await loadRun(runFolder, taskSource(runFolder, plan));
  return new Map(
    jobs.filter(({ status, isKeptBack }) => status !== 'ended' && !isKeptBack).map((job) => [job.id, job]),
  );
}

const isOther = (now: JobState, before: JobState | undefined): boolean =>
  now.round !== before?.round || now.attempts.at(-1)?.attempt !== before?.attempts.at(-1)?.attempt;
