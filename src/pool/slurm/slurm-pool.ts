import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  type Clock,
  counted,
  type Env,
  isThere,
  mapLimited,
  formatDuration,
  formatSize,
} from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';
import { Fault } from '@updraft/account/fault';
import { sentAuthorities } from '@updraft/pelican/trust';
import { attemptFolder } from '@updraft/account/run-folder';
import { variantsOf } from '../../job/variants.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import {
  openJournal,
  readJournal,
  readRunJournal,
  damageOf,
  type Entry,
  type EntrySource,
  isOpen,
  type JobState,
  JournalTail,
  loadRun,
  type Outcome,
  type SourceUpdate,
} from '@updraft/account/journal';
import { imageSource, hiddenEnvVars, readFolders, writeAuthorities } from '../image-command.ts';
import { hasSecrets, secretsFile } from '../stored-secrets.ts';
import { findAgent, placePackedAgent } from '../find-agent.ts';
import { type Pool, type PoolKind, type PoolRecords, type PoolContext, readPlan } from '../pool.ts';
import { requestOnce, type Submitter } from '../request-once.ts';
import { examineSeconds } from '../scheduler-tools.ts';
import { isOver, judgeTask, type QueueRow } from './tasks.ts';
import { renderSlurmOrders, renderSbatch, slurmPolicy } from './render-sbatch.ts';
import { arrayName, slurmRoundFiles, slurmFiles, taskJournal } from './slurm-files.ts';
import { SlurmTools } from './slurm-tools.ts';
import type { TaskImage } from './task-script.ts';
import {
  evictTask,
  latestTasks,
  stopTasks,
  taskExpressions,
  type TaskId,
  taskName,
  expandIndices,
} from './tasks.ts';
import { readAttemptExit, withOutcomes } from '../attempt-exit.ts';
import type { SlotFact, SlotFacts, Where } from '../../check/facts.ts';

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
  const entries = await readRunJournal(runFolder);
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
  const entries = await readRunJournal(runFolder);
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

/** A node's last writes may take a moment to be visible here. */
const settleMs = 2000;
const maxLogLines = 5;

/**
 * Asks Slurm once about the jobs that have not ended by their own journals, and records there what it adds: the run's
 * folder then has the complete state.
 */
async function refreshFromQueue(
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
async function askQueue(tools: SlurmTools, arrays: readonly number[]): Promise<Map<string, QueueRow>> {
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
function taskSource(runFolder: string, { jobs }: Pick<Plan, 'jobs'>): EntrySource {
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

interface PartitionNode {
  name: string;
  partition: string;
  isDefault: boolean;
  /** Both the partition and the node accept jobs. */
  isUp: boolean;
  isIdle: boolean;
  cpus: number;
  memoryBytes: number;
  gpus: number;
  features: string[];
  /** Time limit of the partition; Infinity if there is none. */
  seconds: number;
}

/** Compares a plan's resources with every node of the cluster, partition by partition. */
async function askNodes(plan: Plan, where: Where, tools: SlurmTools): Promise<SlotFacts> {
  const columns = ['%N', '%P', '%a', '%t', '%c', '%m', '%G', '%f', '%l'].join('|');
  const nodes = readNodes(await tools.ask('sinfo', ['-h', '-a', '-N', '-o', columns]));
  if (nodes.length === 0)
    throw new Fault('pool-unreachable', 'sinfo lists no nodes', { fix: 'run sinfo and read its output' });
  return nodeFacts(plan, where, nodes);
}

/** Parses sinfo's output, one line per node and partition. */
export function readNodes(text: string): PartitionNode[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', partition = '', up = '', state = '', ...figures] = line.split('|');
      const [cpus = '', memory = '', gres = '', features = '', limit = ''] = figures;
      return {
        name,
        partition: partition.replace(/\*$/, ''),
        isDefault: partition.endsWith('*'),
        isUp: up === 'up' && !/down|drain|fail|inval|unk|maint|\*$/i.test(state),
        isIdle: /^idle$/i.test(state),
        cpus: Number.parseInt(cpus, 10),
        memoryBytes: Number.parseInt(memory, 10) * 2 ** 20,
        gpus: gpusOf(gres),
        features: features.split(/[,&|()[\]]/),
        seconds: secondsOf(limit),
      };
    });
}

/** The number of GPUs: 2 for `gpu:a100:2(S:0-1),tmp:5`. */
function gpusOf(gres: string): number {
  const counts = gres
    .replaceAll(/\([^)]*\)/g, '')
    .split(',')
    .filter((one) => /^gpu\b/.test(one))
    .map((one) => Number(/:(\d+)$/.exec(one)?.[1] ?? 1));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Parses `1-12:00:00`, `30:00` or `infinite`. */
function secondsOf(limit: string): number {
  const [, days = '0', clock = ''] = /^(?:(\d+)-)?([\d:]+)$/.exec(limit) ?? [];
  if (clock === '') return Infinity;
  const parts = clock.split(':').map(Number);
  const [seconds = 0, minutes = 0, hours = 0] = parts.reverse();
  return ((Number(days) * 24 + hours) * 60 + minutes) * 60 + seconds;
}

interface NodeCondition {
  words: string;
  key: [string, string];
  holds: (node: PartitionNode) => boolean;
}

/**
 * Which nodes could run a plan's jobs, condition by condition: the nodes of its partition, or all if the partition has
 * none. Pure.
 */
export function nodeFacts(plan: Plan, where: Where, all: readonly PartitionNode[]): SlotFacts {
  const partition = partitionOf(plan);
  const its = all.filter(partition.holds);
  const nodes = its.length > 0 ? its : all;
  const conditions = [...(its.length > 0 ? [] : [partition]), ...conditionsOf(plan)];
  const { nodes: asked = 1 } = plan.spec.resources;
  const fit = nodes.filter((node) => conditions.every(({ holds }) => holds(node)));
  if (asked > 1)
    conditions.push({
      words: `nodes = ${asked}`,
      key: ['resources', 'nodes'],
      holds: () => new Set(fit.map(({ name }) => name)).size >= asked,
    });
  const slots = nodes.map((node): SlotFact => ({
    name: `${node.name} in ${node.partition}`,
    meets: conditions.map(({ holds }) => holds(node)),
    fitsNow: node.isUp && node.isIdle,
  }));
  return {
    conditions: conditions.map(({ words, key }) => ({ words, place: where(...key) })),
    slots,
    largest: { memoryBytes: Math.max(0, ...nodes.map(({ memoryBytes }) => memoryBytes)), diskBytes: 0 },
  };
}

function partitionOf({ spec }: Plan): NodeCondition {
  const { partition } = spec.run;
  const named = partition?.split(',');
  return {
    words: partition === undefined ? 'the default partition' : `partition = "${partition}"`,
    key: ['run', 'partition'],
    holds: (node) => named?.includes(node.partition) ?? node.isDefault,
  };
}

function conditionsOf({ spec }: Plan): NodeCondition[] {
  const { cpus, gpus, memoryBytes, timeSeconds } = spec.resources;
  const { requirements } = spec.run;
  // Only a plain list of required features can be compared; the rest is left to sbatch.
  const features =
    requirements !== undefined && /^[\w.&-]+$/.test(requirements) ? requirements.split('&') : [];
  const conditions: NodeCondition[] = [];
  const add = (section: string, key: string, words: string, holds: NodeCondition['holds']): void =>
    void conditions.push({ words, key: [section, key], holds });
  add('run', 'pool', 'a node that is up', ({ isUp }) => isUp);
  add('resources', 'cpus', `cpus = ${cpus}`, (node) => node.cpus >= cpus);
  add(
    'resources',
    'memory',
    `memory = "${formatSize(memoryBytes)}"`,
    (node) => node.memoryBytes >= memoryBytes,
  );
  if (gpus > 0) add('resources', 'gpus', `gpus = ${gpus}`, (node) => node.gpus >= gpus);
  if (timeSeconds !== undefined) {
    const words = `time = "${formatDuration(timeSeconds)}"`;
    add('resources', 'time', words, ({ seconds }) => seconds >= timeSeconds);
  }
  for (const feature of features)
    add('run', 'requirements', `requirements = "${feature}"`, (node) => node.features.includes(feature));
  return conditions;
}
