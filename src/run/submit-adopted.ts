import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  fileList,
  parseQuantity,
  splitArguments,
  type Submission,
  type SubmitFacts,
} from '@updraft/htcondor/submit';
import { identifyProcess } from '@updraft/base/processes';
import { removeTree, replaceFile } from '@updraft/base/disk';
import { shellQuote } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { runsFolder } from '@updraft/account/run-folder';
import { makePlan, type Plan } from '../job/plan.ts';
import { readRunJournal } from '@updraft/account/journal';
import { askCondorOnce, condorFiles, CondorTools } from '../pool/htcondor.ts';
import { pluginScript } from '../pool/launcher.ts';
import { findAgent, placePackedAgent } from '../pool/find-agent.ts';
import type { PoolContext } from '../pool/pool.ts';
import { SubmitRefused } from '../pool/request-once.ts';
import { createRun, newRunName, withCreationLease } from './create-run.ts';
import { findEarlier } from './submit-run.ts';

type Submitting = PoolContext & { version: string };

export interface AdoptedRun {
  run: string;
  folder: string;
  cluster: number;
}

interface WantedRun {
  withPlugin: boolean;
  /** The user asked for a new run. */
  isNew: boolean;
  /** When the command was started. */
  since: number;
}

/** A run to create from a submit file, or an active one of the same file. */
export interface PlannedRun extends WantedRun {
  run: string;
  /** Statements passed to condor_submit besides the file. */
  added: string[];
  /** It already exists: the same command was run before. */
  isResumed: boolean;
}

/** What submitting the file would do. The same file again resumes its run, unless the user asks for a new one. */
export async function plannedRun(
  context: Submitting,
  file: string,
  facts: SubmitFacts,
  wanted: WantedRun,
): Promise<PlannedRun> {
  assertOwnFolder(file, facts);
  assertCountable(file, facts);
  assertReadableLog(file, facts);
  const plan = adoptedPlan(file, facts);
  if (wanted.withPlugin) assertListable(plan.folder);
  const earlier = wanted.isNew ? undefined : await findOpenRun(plan, await readFile(file, 'utf8'), wanted);
  const run = earlier ?? newRunName(plan, context.clock);
  const added = additions(facts.submission, path.join(plan.folder, runsFolder, run), wanted.withPlugin);
  return { ...wanted, run, added, isResumed: earlier !== undefined };
}

/** The run of this text that is active or unconfirmed, or that this command has made since: HTCondor may be slow. */
async function findOpenRun(plan: Plan, text: string, wanted: WantedRun): Promise<string | undefined> {
  const { same } = await findEarlier(plan);
  if (same === undefined) return undefined;
  const entries = await readRunJournal(same.folder);
  const isOwn = Date.parse(entries[0]?.t ?? '') >= wanted.since;
  if (same.isEnded && !isOwn && entries.some(({ kind }) => kind === 'submitted')) return undefined;
  const read = (name: string): Promise<string | undefined> =>
    readFile(path.join(same.folder, name), 'utf8').catch(() => undefined);
  const isSame =
    (await read(condorFiles.submit)) === text &&
    ((await read(condorFiles.plugin)) !== undefined) === wanted.withPlugin;
  return isSame ? path.basename(same.folder) : undefined;
}

/** Submits the file unchanged, exactly once, with a run folder that `status`, `watch` and `report` understand. */
export async function submitAdopted(
  context: Submitting,
  file: string,
  facts: SubmitFacts,
  planned: PlannedRun,
): Promise<AdoptedRun> {
  const tools = await CondorTools.find(context.env);
  const plan = adoptedPlan(file, facts);
  const made = planned.isResumed
    ? planned
    : await withCreationLease(plan, context, () => createAdopted(context, file, facts, planned));
  const { run } = made;
  const folder = path.join(plan.folder, runsFolder, run);
  try {
    return { run, folder, cluster: await submit(context, tools, file, folder, made) };
  } catch (error) {
    // Nothing was queued, so there is no run to show.
    if (error instanceof SubmitRefused) await removeTree(folder);
    throw error;
  }
}

/** Creates the run folder, unless a concurrent command has just created it. */
async function createAdopted(
  context: Submitting,
  file: string,
  facts: SubmitFacts,
  planned: PlannedRun,
): Promise<PlannedRun> {
  const now = planned.isNew ? planned : await plannedRun(context, file, facts, planned);
  if (now.isResumed) return now;
  const rendered = {
    [condorFiles.submit]: await readFile(file, 'utf8'),
    ...(planned.withPlugin ? { [condorFiles.plugin]: pluginScript } : {}),
  };
  await createRun(adoptedPlan(file, facts), rendered, context.version, context.clock, planned.run);
  return planned;
}

async function submit(
  context: Submitting,
  tools: CondorTools,
  file: string,
  folder: string,
  { run, added, withPlugin }: PlannedRun,
): Promise<number> {
  const self = identifyProcess(context.pid);
  if (self === undefined) throw new Fault('pool-unreachable', 'there is no /proc on this machine');
  if (withPlugin) {
    await placePackedAgent(await findAgent(context), path.join(folder, condorFiles.agent), context.env);
    // The same for all runs from this folder, and read whenever a job starts.
    await replaceFile(path.join(path.dirname(file), condorFiles.plugin), pluginScript, { mode: 0o755 });
  }
  const args = ['-terse', path.basename(file), ...added.flatMap((statement) => ['-append', statement])];
  return await askCondorOnce(
    folder,
    { tools, clock: context.clock, self },
    {
      round: 1,
      // condor_submit reads the original file, so that its paths keep their meaning; it waits for a line to start.
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

/** The plugin is named in lists whose separators HTCondor cannot quote. */
function assertListable(folder: string): void {
  if (!/[,;=]/.test(folder)) return;
  throw new Fault(
    'file-invalid',
    `the plugin cannot be sent from ${folder}: HTCondor splits its lists at "," ";" and "="`,
    { fix: 'rename the folder, or submit the file without --with-plugin', about: folder },
  );
}

/** The run folder is beside the file, and `condor_submit` runs there. */
function assertOwnFolder(file: string, { folder }: SubmitFacts): void {
  if (folder === undefined) return;
  throw new Fault('file-invalid', `the paths in ${path.basename(file)} are relative to ${folder}`, {
    fix: `copy the file there, and submit that: cp ${shellQuote(file)} ${shellQuote(folder)}`,
    about: file,
  });
}

/** A run knows its jobs from the start. */
function assertCountable(file: string, { submission }: SubmitFacts): void {
  const unknown = submission.queues.find(({ total }) => total === undefined);
  if (unknown === undefined) return;
  const name = path.basename(file);
  throw new Fault(
    'file-invalid',
    `${name}:${unknown.place.line}: the number of jobs of \`${unknown.text}\` is unknown until HTCondor reads its list`,
    {
      fix: 'write the list into a file and use `queue … from FILE`, or submit it with condor_submit',
      about: file,
    },
  );
}

/** The command applies to the run's log too, without which nothing is known of its jobs. */
function assertReadableLog(file: string, { submission }: SubmitFacts): void {
  const xml = submission.assignments.findLast(
    ({ command, attribute }) => command === 'log_xml' || attribute?.toLowerCase() === 'userlogusexml',
  );
  // 2 is JSON.
  if (xml === undefined || /^(?:f|false|n|no|0|2)$/i.test(xml.value.trim())) return;
  throw new Fault(
    'file-invalid',
    `${path.basename(file)}:${xml.place.line}: ${xml.name} makes HTCondor write the run's log in XML, which ` +
      'Updraft does not read',
    { fix: 'remove the line: the log is text then; or submit the file with condor_submit', about: file },
  );
}

/** The submit file's requests as a plan, so that its run is shown like any other. */
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

/** An expression counts as the default: the number is only shown. */
function countOf(text: string | undefined, fallback: number): number {
  const value = Number(text ?? fallback);
  return Number.isInteger(value) && value >= 0 ? value : fallback;
}

/** Statements passed to `condor_submit` besides the file, which is not changed. */
function additions(submission: Submission, runFolder: string, withPlugin: boolean): string[] {
  const has = (command: string): boolean => submission.assignments.some((one) => one.command === command);
  // A folder's name may look like a macro.
  const inRun = (name: string): string => path.join(runFolder, name).replaceAll('$(', '$(DOLLAR)(');
  return [
    // A second log besides the jobs' own: the schedd writes to both.
    `dagman_log = ${inRun(condorFiles.eventLog)}`,
    // Finds the jobs in the queue when the submission was not confirmed.
    `MY.UpdraftRun = "${path.basename(runFolder)}"`,
    ...(has('ulog_execute_attrs') ? [] : ['ulog_execute_attrs = GLIDEIN_ResourceName']),
    ...(withPlugin ? pluginStatements(has, inRun) : []),
  ];
}

function pluginStatements(has: (command: string) => boolean, inRun: (name: string) => string): string[] {
  // HTCondor sends the plugin along, but a worker looks for it under the path that is given here.
  const file = has('initialdir') ? inRun(condorFiles.plugin) : condorFiles.plugin;
  const plugin = `osdf,pelican,stash=${file}`;
  const agent = inRun(condorFiles.agent);
  return [
    `transfer_plugins = ${has('transfer_plugins') ? `$(transfer_plugins); ${plugin}` : plugin}`,
    `transfer_input_files = ${has('transfer_input_files') ? `$(transfer_input_files), ${agent}` : agent}`,
  ];
}
