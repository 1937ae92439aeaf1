import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { splitArguments } from '../../adopt/split-arguments.ts';
import { type SubmitFacts, fileList, parseQuantity } from '../../adopt/submit-facts.ts';
import type { Submission } from '../../adopt/submission.ts';
import { identifyProcess } from '../../base/process-identity.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import { Fault } from '../../fault/fault.ts';
import { runFiles, runsFolder } from '../../job/layout.ts';
import { makePlan, type Plan } from '../../job/plan.ts';
import { readJournal } from '../../journal/tail.ts';
import { askCondorOnce, condorFiles, CondorTools } from '../../pool/htcondor.ts';
import { pluginScript } from '../../pool/launcher.ts';
import { agentExecutable, placePackedAgent } from '../../pool/packed-agent.ts';
import { SubmitRefused } from '../../pool/request-once.ts';
import { createRun, newRunName, withCreationLease } from '../../run/create-run.ts';
import { findEarlier } from '../../run/submit-run.ts';
import type { Cli } from '../cli.ts';

export interface AdoptedRun {
  run: string;
  folder: string;
  cluster: number;
}

/** A run that is to be made of a file, or one that was made of the very same and has not ended. */
export interface PlannedRun {
  run: string;
  /** The statements that are given beside the file. */
  added: string[];
  withPlugin: boolean;
  /** Another one was asked for, whatever there is. */
  isNew: boolean;
  /** It is there already: the same command was given before. */
  isResumed: boolean;
}

/** What submitting the file would do. The same file again goes on with its run, unless another one is asked for. */
export async function plannedRun(
  cli: Cli,
  file: string,
  evidence: SubmitFacts,
  { withPlugin, isNew }: { withPlugin: boolean; isNew: boolean },
): Promise<PlannedRun> {
  assertCountable(file, evidence);
  const plan = adoptedPlan(file, evidence);
  if (withPlugin) assertListable(plan.folder);
  const earlier = isNew ? undefined : await findOpenRun(plan, await readFile(file, 'utf8'), withPlugin);
  const run = earlier ?? newRunName(plan, cli.clock);
  const added = additions(evidence.submission, path.join(plan.folder, runsFolder, run), withPlugin);
  return { run, added, withPlugin, isNew, isResumed: earlier !== undefined };
}

/** The run of this very text that has not ended, or of whose submission nobody has heard yet. */
async function findOpenRun(plan: Plan, text: string, withPlugin: boolean): Promise<string | undefined> {
  const { same } = await findEarlier(plan);
  if (same === undefined) return undefined;
  const { entries } = await readJournal(path.join(same.folder, runFiles.journal));
  if (same.isEnded && entries.some(({ kind }) => kind === 'submitted')) return undefined;
  const read = (name: string): Promise<string | undefined> =>
    readFile(path.join(same.folder, name), 'utf8').catch(() => undefined);
  const isSame =
    (await read(condorFiles.submit)) === text &&
    ((await read(condorFiles.plugin)) !== undefined) === withPlugin;
  return isSame ? path.basename(same.folder) : undefined;
}

/** Submits the file as it is, exactly once, with a run's folder that `status`, `watch` and `report` understand. */
export async function submitAdopted(
  cli: Cli,
  file: string,
  evidence: SubmitFacts,
  planned: PlannedRun,
): Promise<AdoptedRun> {
  const tools = await CondorTools.find(cli.env);
  const plan = adoptedPlan(file, evidence);
  const made = planned.isResumed
    ? planned
    : await withCreationLease(plan, cli, () => createAdopted(cli, file, evidence, planned));
  const { run } = made;
  const folder = path.join(plan.folder, runsFolder, run);
  try {
    return { run, folder, cluster: await submit(cli, tools, file, folder, made) };
  } catch (error) {
    // Nothing was queued, so there is no run to show.
    if (error instanceof SubmitRefused) await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Makes the run's folder, unless the same command, given at the same time, has made it meanwhile. */
async function createAdopted(
  cli: Cli,
  file: string,
  evidence: SubmitFacts,
  planned: PlannedRun,
): Promise<PlannedRun> {
  const now = planned.isNew ? planned : await plannedRun(cli, file, evidence, planned);
  if (now.isResumed) return now;
  const rendered = {
    [condorFiles.submit]: await readFile(file, 'utf8'),
    ...(planned.withPlugin ? { [condorFiles.plugin]: pluginScript } : {}),
  };
  await createRun(adoptedPlan(file, evidence), rendered, cli.version, cli.clock, planned.run);
  return planned;
}

async function submit(
  cli: Cli,
  tools: CondorTools,
  file: string,
  folder: string,
  { run, added, withPlugin }: PlannedRun,
): Promise<number> {
  const self = identifyProcess(cli.pid);
  if (self === undefined) throw new Fault('pool-unreachable', 'there is no /proc on this machine');
  if (withPlugin) {
    const executable = await agentExecutable(cli.env, cli.self);
    await placePackedAgent(executable, path.join(folder, condorFiles.agent), cli.env);
  }
  const args = ['-terse', path.basename(file), ...added.flatMap((statement) => ['-append', statement])];
  return await askCondorOnce(
    folder,
    { tools, clock: cli.clock, self },
    {
      round: 1,
      // Reads the file itself, so that this means what it means to its author; waits for a line to go.
      command: '/bin/sh',
      args: ['-c', 'read -r go && exec "$@"', 'sh', tools.command('condor_submit'), ...args],
      cwd: path.dirname(file),
      input: 'go\n',
      // Nobody else writes to this log.
      isOurs: () => true,
      constraint: `UpdraftRun == "${run}"`,
      file,
    },
  );
}

/** The plugin stands in lists whose marks HTCondor lets nobody quote. */
function assertListable(folder: string): void {
  if (!/[,;=]/.test(folder)) return;
  throw new Fault(
    'file-invalid',
    `the plugin cannot be sent from ${folder}: HTCondor splits its lists at "," ";" and "="`,
    { fix: 'rename the folder, or submit the file without --with-plugin', about: folder },
  );
}

/** A run knows its jobs from the start. */
function assertCountable(file: string, { submission }: SubmitFacts): void {
  const unknown = submission.queues.find(({ total }) => total === undefined);
  if (unknown === undefined) return;
  const name = path.basename(file);
  throw new Fault(
    'file-invalid',
    `${name}:${unknown.place.line}: how many jobs \`${unknown.text}\` makes is only known when HTCondor reads its list`,
    {
      fix: 'write the list into a file and use `queue … from FILE`, or submit it with condor_submit itself',
      about: file,
    },
  );
}

/** What a submit description asks for in the words of a job file, so that its run is shown like any other. */
export function adoptedPlan(file: string, { submission }: SubmitFacts): Plan {
  const commands = submission.queues[0]?.jobs[0]?.commands ?? {};
  const jobs = submission.queues.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const bytes = (name: string, unit: 'k' | 'm'): number | undefined =>
    parseQuantity(commands[name] ?? '', unit)?.bytes;
  const retries = Number(commands['max_retries'] ?? 0);
  return makePlan({
    file,
    folder: path.dirname(file),
    files: [],
    spec: {
      name: nameOf(file),
      train: {
        command: commandOf(commands),
        files: [],
        outputs: fileList(commands['transfer_output_files']),
        env: {},
      },
      data: [],
      environment: { python: [] },
      resources: {
        cpus: countOf(commands['request_cpus'], 1),
        gpus: countOf(commands['request_gpus'], 0),
        memoryBytes: bytes('request_memory', 'm') ?? 128 * 2 ** 20,
        diskBytes: bytes('request_disk', 'k') ?? 'auto',
      },
      run: {
        jobs: Math.max(1, jobs),
        matrix: {},
        pool: 'condor',
        attempts: Number.isInteger(retries) ? retries + 1 : 1,
      },
      recovery: { avoid: 'none' },
    },
  });
}

const nameOf = (file: string): string =>
  path
    .parse(file)
    .name.replaceAll(/[^A-Za-z0-9_.]+/g, '-')
    .replace(/^[-.]+/, '') || 'adopted';

function commandOf(commands: Record<string, string>): string {
  const words = [commands['executable'] ?? '', ...splitArguments(commands['arguments'] ?? '')];
  return words.map(shellQuote).join(' ');
}

/** A number that HTCondor would compute is taken for the default: it is only shown. */
function countOf(text: string | undefined, fallback: number): number {
  const value = Number(text ?? fallback);
  return Number.isInteger(value) && value >= 0 ? value : fallback;
}

/** Statements that are given to `condor_submit` beside the file, which itself stays as it is. */
function additions(submission: Submission, runFolder: string, withPlugin: boolean): string[] {
  const has = (command: string): boolean => submission.assignments.some((one) => one.command === command);
  // A folder's name may look like a macro.
  const inRun = (name: string): string => path.join(runFolder, name).replaceAll('$(', '$(DOLLAR)(');
  return [
    // A second log, wherever the jobs' own ones are: the schedd writes to both.
    `dagman_log = ${inRun(condorFiles.eventLog)}`,
    // By which they are found in the queue when nobody heard what became of the submission.
    `MY.UpdraftRun = "${path.basename(runFolder)}"`,
    ...(has('ulog_execute_attrs') ? [] : ['ulog_execute_attrs = GLIDEIN_ResourceName']),
    ...(withPlugin ? pluginStatements(has, inRun) : []),
  ];
}

function pluginStatements(has: (command: string) => boolean, inRun: (name: string) => string): string[] {
  const plugin = `osdf,pelican,stash=${inRun(condorFiles.plugin)}`;
  const agent = inRun(condorFiles.agent);
  return [
    `transfer_plugins = ${has('transfer_plugins') ? `$(transfer_plugins); ${plugin}` : plugin}`,
    `transfer_input_files = ${has('transfer_input_files') ? `$(transfer_input_files), ${agent}` : agent}`,
  ];
}

/** What the additions would be as a change to the file: they stand before its first queue statement. */
export function additionsDiff(file: string, { queues }: Submission, added: readonly string[]): string {
  const name = path.basename(file);
  const line = queues[0]?.place.line ?? 1;
  const head = `--- ${name}\n+++ ${name} as it is submitted\n@@ -${line} +${line},${added.length + 1} @@\n`;
  return `${head}${added.map((statement) => `+${statement}\n`).join('')} ${queues[0]?.text ?? 'queue'}\n`;
}
