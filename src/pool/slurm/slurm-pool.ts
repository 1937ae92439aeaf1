import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Env } from '../../base/env.ts';
import { identifyProcess } from '../../base/process-identity.ts';
import { Fault } from '../../fault/fault.ts';
import { runFiles } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { openJournal } from '../../journal/file.ts';
import { readJournal } from '../../journal/read-journal.ts';
import { agentExecutable, placePackedAgent } from '../packed-agent.ts';
import { imagePlace, misleading, readFolders } from '../image-command.ts';
import type { Pool } from '../pool.ts';
import { assertQueueable } from './assert-queueable.ts';
import { lookAtQueue } from './look-at-queue.ts';
import { renderOrders } from './render-orders.ts';
import { renderSbatch } from './render-sbatch.ts';
import { roundFiles, slurmFiles, taskJournal } from './slurm-files.ts';
import { slurmPolicy } from './slurm-policy.ts';
import { SlurmTools } from './slurm-tools.ts';
import { stopTasks, taskExpressions } from './stop-tasks.ts';
import { submitArray } from './submit-array.ts';
import { evictTask } from './evict-task.ts';
import { latestTasks, taskName, type TaskId } from './task-ids.ts';
import type { TaskImage } from './task-script.ts';

export interface SlurmStart {
  self: readonly string[];
  env: Env;
  clock: Clock;
  pid: number;
}

/** How often the scheduler is asked at most while somebody watches: its staff counts the questions. */
const askEveryMs = 20_000;

/**
 * Slurm as a pool. Nodes see the run's folder: jobs write their journals, checkpoints and results there themselves, and
 * queue themselves again. Nothing of ours needs to run.
 */
export function slurmPool(start: SlurmStart): Pool {
  const { env, clock } = start;
  let askedAt = -Infinity;
  return {
    // What a job asks for is held against the nodes themselves when it is checked.
    customs: () => Promise.resolve(undefined),
    policy: (plan) => Promise.resolve(slurmPolicy(plan)),
    async render(plan, run, round) {
      const tools = await SlurmTools.find(env);
      await assertQueueable(plan, tools);
      const { script } = roundFiles(round?.number ?? 1);
      return {
        summary: `for Slurm ${await tools.version()}`,
        files: {
          [script]: renderSbatch({ plan, run, round, image: imageOf(plan, env) }),
          ...renderOrders(plan, run, round),
        },
        shown: script,
      };
    },
    submit: (runFolder) => submitRounds(runFolder, start),
    async stop(runFolder, jobs) {
      const tools = await SlurmTools.find(env);
      await stopTasks(tools, await tasksNamed(runFolder, jobs));
      await lookAtQueue(runFolder, await planOf(runFolder), tools, clock);
    },
    async release(runFolder, jobs, change) {
      // What a user may not change of a queued job is asked for anew.
      if (Object.keys(change).length > 0) return [...jobs];
      const tools = await SlurmTools.find(env);
      const tasks = await tasksNamed(runFolder, jobs);
      return await tools.ask('scontrol', ['release', ...taskExpressions(tasks)]).then(
        () => [],
        () => [...jobs],
      );
    },
    // Attempts write into the run's folder.
    output: () => Promise.resolve(undefined),
    async evict(runFolder, job) {
      const [task] = await tasksNamed(runFolder, [job]);
      const tools = await SlurmTools.find(env);
      if (task === undefined) return;
      await evictTask(tools, taskName(task), clock);
    },
    async look(runFolder) {
      if (clock.monotonic() - askedAt < askEveryMs) return;
      askedAt = clock.monotonic();
      await lookAtQueue(runFolder, await planOf(runFolder), await SlurmTools.find(env), clock);
    },
  };
}

function imageOf(plan: Plan, env: Env): TaskImage | undefined {
  const { image } = plan.spec.environment;
  if (image === undefined) return undefined;
  return {
    place: imagePlace(image, plan, env),
    gpus: plan.spec.resources.gpus > 0,
    reads: readFolders(plan),
    hides: misleading,
  };
}

/** Submits what the run's journal tells of and Slurm does not have yet. */
async function submitRounds(runFolder: string, { self, env, clock, pid }: SlurmStart): Promise<void> {
  const tools = await SlurmTools.find(env);
  const myself = identifyProcess(pid);
  if (myself === undefined) throw new Fault('pool-unreachable', 'there is no /proc on this machine');
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const rounds = entries.filter((entry) => entry.kind === 'round-started');
  const taken = new Set(entries.flatMap((entry) => (entry.kind === 'submitted' ? [entry.round ?? 1] : [])));
  await mkdir(path.join(runFolder, slurmFiles.said), { recursive: true });
  const agent = path.join(runFolder, slurmFiles.agent);
  if (!taken.has(1)) await placePackedAgent(await agentExecutable(env, self), agent, env);
  for (const { round, jobs, why } of [{ round: 1, jobs: [], why: '' }, ...rounds]) {
    if (taken.has(round)) continue;
    for (const job of jobs) await tellRound(runFolder, { round, job, why }, clock);
    await submitArray(runFolder, round, { tools, clock, self: myself });
  }
}

/** So that the job's own journal, which is read for itself, has what befell it in the order in which it did. */
async function tellRound(
  runFolder: string,
  { round, job, why }: { round: number; job: string; why: string },
  clock: Clock,
): Promise<void> {
  const file = taskJournal(runFolder, job);
  await mkdir(path.dirname(file), { recursive: true });
  const { entries } = await readJournal(file);
  if (entries.some((entry) => entry.kind === 'round-started' && entry.round === round)) return;
  await using journal = await openJournal(file, clock);
  await journal.append({ kind: 'round-started', round, jobs: [job], why });
}

async function tasksNamed(runFolder: string, jobs: readonly string[]): Promise<TaskId[]> {
  const tasks = await latestTasks(runFolder);
  return jobs.flatMap((job) => tasks.get(job) ?? []);
}

const planOf = async (runFolder: string): Promise<Plan> =>
  JSON.parse(await readFile(path.join(runFolder, runFiles.plan), 'utf8')) as Plan;
