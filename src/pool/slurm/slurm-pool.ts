import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, counted, type Env, isThere } from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';
import { Fault } from '@updraft/account/fault';
import { sentAuthorities } from '@updraft/pelican/trust';
import { runFiles } from '@updraft/account/run-folder';
import { variantsOf } from '../../job/variants.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { openJournal, readJournal } from '@updraft/account/journal';
import { imageSource, hiddenEnvVars, readFolders, writeAuthorities } from '../image-command.ts';
import { hasSecrets, secretsFile } from '../stored-secrets.ts';
import { findAgent, placePackedAgent } from '../find-agent.ts';
import { type Pool, type PoolKind, type PoolRecords, type PoolContext, readPlan } from '../pool.ts';
import { requestOnce, type Submitter } from '../request-once.ts';
import { examineSeconds } from '../scheduler-tools.ts';
import { askNodes } from './ask-nodes.ts';
import { isOver } from './judge-task.ts';
import { askQueue, refreshFromQueue, taskSource } from './refresh-queue.ts';
import { renderSlurmOrders, renderSbatch, slurmPolicy } from './render-sbatch.ts';
import { arrayName, slurmRoundFiles, slurmFiles, taskJournal } from './slurm-files.ts';
import { SlurmTools } from './slurm-tools.ts';
import type { TaskImage } from './task-script.ts';
import { evictTask, latestTasks, stopTasks, taskExpressions, type TaskId, taskName } from './tasks.ts';

/** Minimum time between queries while someone watches: clusters limit them. */
const minQueryMs = 20_000;

const records: PoolRecords = {
  traits: poolTraits.slurm,
  async source(runFolder) {
    // May be missing in a copy.
    if (!(await isThere(path.join(runFolder, slurmRoundFiles(1).script)))) return undefined;
    return taskSource(runFolder, await readPlan(runFolder));
  },
  account: () => Promise.resolve({}),
  jobJournal: (job) => taskJournal('', job),
};

export const slurmKind: PoolKind = { ...records, open: slurmPool };

/**
 * Slurm as a pool. Nodes see the run's folder: jobs write their journals, checkpoints and results there, and requeue
 * themselves. Nothing of ours needs to run.
 */
function slurmPool(context: PoolContext): Pool {
  const { env, clock } = context;
  let askedAt = -Infinity;
  return {
    ...records,
    // `check` compares a job's resources with the nodes themselves.
    limits: () => Promise.resolve(undefined),
    policies: (plan) => Promise.resolve(variantsOf(plan).map(slurmPolicy)),
    async examine() {
      const tools = await SlurmTools.find({ UPDRAFT_POOL_SECONDS: examineSeconds, ...env });
      const listed = await tools.ask('sinfo', ['-h', '-a', '-o', '%P']);
      const partitions = [...new Set(listed.split('\n').filter((line) => line !== ''))].join(', ');
      return `Slurm ${await tools.version()}, partitions ${partitions} (* is the default), slurmctld answers`;
    },
    slots: async (plan, where) => askNodes(plan, where, await SlurmTools.find(env)),
    async render(plan, run, round) {
      const tools = await SlurmTools.find(env);
      await assertQueueable(plan, tools);
      const { script, policy } = slurmRoundFiles(round?.number ?? 1);
      return {
        summary: `for Slurm ${await tools.version()}`,
        files: {
          [script]: renderSbatch({ plan, run, round, ...userSettings(plan, run, env) }),
          [policy]: `${JSON.stringify(slurmPolicy(plan), undefined, 2)}\n`,
          ...renderSlurmOrders(plan, run, round),
        },
        shown: script,
      };
    },
    submit: (runFolder) => submitRounds(runFolder, context),
    async stop(runFolder, jobs) {
      const tools = await SlurmTools.find(env);
      await stopTasks(tools, await tasksNamed(runFolder, jobs));
      await refreshFromQueue(runFolder, await readPlan(runFolder), tools, clock);
    },
    queued: async (runFolder) => countQueued(runFolder, await SlurmTools.find(env)),
    async release(runFolder, jobs, change) {
      // Users may not change a queued job's resources: that needs a new round.
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
      if (task !== undefined) await evictTask(await SlurmTools.find(env), taskName(task), clock);
    },
    async refresh(runFolder) {
      if (clock.monotonic() - askedAt < minQueryMs) return;
      askedAt = clock.monotonic();
      await refreshFromQueue(runFolder, await readPlan(runFolder), await SlurmTools.find(env), clock);
    },
  };
}

/** What the script needs from the user's settings. */
const userSettings = (plan: Plan, run: string, env: Env) => ({
  image: imageOf(plan, env),
  secrets: hasSecrets(plan) ? secretsFile(env, run) : undefined,
  hasAuthority: sentAuthorities(env).length > 0,
});

function imageOf(plan: Plan, env: Env): TaskImage | undefined {
  const { image } = plan.spec.environment;
  if (image === undefined) return undefined;
  return {
    place: imageSource(image, plan, env),
    gpus: plan.spec.resources.gpus > 0,
    reads: readFolders(plan),
    hiddenVariables: hiddenEnvVars,
  };
}

/** Submits the rounds of the run's journal that Slurm does not have yet. */
async function submitRounds(runFolder: string, { self, env, clock, pid }: PoolContext): Promise<void> {
  const tools = await SlurmTools.find(env);
  const myself = identifyProcess(pid);
  if (myself === undefined) throw new Fault('pool-unreachable', 'this machine has no /proc');
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const rounds = entries.filter((entry) => entry.kind === 'round-started');
  const taken = new Set(entries.flatMap((entry) => (entry.kind === 'submitted' ? [entry.round ?? 1] : [])));
  await mkdir(path.join(runFolder, slurmFiles.said), { recursive: true });
  await writeAuthorities(path.join(runFolder, slurmFiles.authority), env);
  for (const { round, jobs, why } of [{ round: 1, jobs: [], why: '' }, ...rounds]) {
    if (taken.has(round)) continue;
    const agent = path.join(runFolder, slurmRoundFiles(round).agent);
    await placePackedAgent(await findAgent({ env, self }), agent, env);
    for (const job of jobs) await recordRound(runFolder, { round, job, why }, clock);
    await submitArray(runFolder, round, { tools, clock, self: myself });
  }
}

/** Records a round in the job's own journal, which is read alone and must have its events in order. */
async function recordRound(
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

async function countQueued(runFolder: string, tools: SlurmTools): Promise<number> {
  const arrays = new Set((await latestTasks(runFolder)).values().map(({ array }) => array));
  const rows = await askQueue(tools, [...arrays]);
  return [...rows.values()].filter((row) => !isOver(row)).length;
}

async function tasksNamed(runFolder: string, jobs: readonly string[]): Promise<TaskId[]> {
  const tasks = await latestTasks(runFolder);
  return jobs.flatMap((job) => tasks.get(job) ?? []);
}

/** Slurm's default limit. */
const defaultArraySize = 1001;

/** Throws if the run has more jobs than an array may have: Slurm's own message does not name the limit. */
async function assertQueueable({ file, jobs }: Plan, tools: SlurmTools): Promise<void> {
  const maxSize = (await tools.setting('MaxArraySize')) ?? defaultArraySize;
  if (jobs.length <= maxSize - 1) return;
  throw new Fault(
    'file-invalid',
    `${file}: ${counted(jobs.length, 'job')}, but this cluster allows ` +
      `at most ${maxSize - 1} in one array (MaxArraySize = ${maxSize})`,
    { fix: 'split it into several runs, or ask the administrators for a larger MaxArraySize', about: file },
  );
}

/** Submits a round of a run with sbatch exactly once; returns the array's number. */
async function submitArray(
  runFolder: string,
  round: number,
  submitter: Submitter<SlurmTools>,
): Promise<number> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const run = entries.find((entry) => entry.kind === 'run-created')?.run ?? path.basename(runFolder);
  const file = path.join(runFolder, slurmRoundFiles(round).script);
  return await requestOnce(runFolder, submitter, {
    round,
    lease: slurmFiles.submitting,
    name: 'sbatch',
    command: submitter.tools.command('sbatch'),
    args: ['--parsable'],
    cwd: runFolder,
    input: await readFile(file),
    find: () => findArray(runFolder, round, arrayName(run, round), submitter.tools),
    file,
  });
}

/** The array of an earlier sbatch whose answer was lost, if it made one: recorded by its jobs, or in the queue. */
async function findArray(
  runFolder: string,
  round: number,
  name: string,
  tools: SlurmTools,
): Promise<number | undefined> {
  const reported = await readFile(path.join(runFolder, slurmFiles.arrays, String(round)), 'utf8').catch(
    () => '',
  );
  const queued = await tools.ask('squeue', ['-h', '-a', '-t', 'all', `--name=${name}`, '-o', '%F']);
  // Fails without accounting; there is no other source.
  const kept = await tools.ask('sacct', ['-n', '-X', '-P', `--name=${name}`, '-o', 'JobID']).catch(() => '');
  const number = [reported, queued, kept]
    .map((text) => Number.parseInt(text, 10))
    .find((one) => !Number.isNaN(one));
  return number;
}
