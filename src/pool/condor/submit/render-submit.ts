import { jobLabel, jobNames } from '@updraft/account/parameters';
import { runFiles, sandboxFiles, submittedUrl } from '@updraft/account/run-folder';
import { fetchedBy, type Plan, type PlannedData } from '../../../job/plan.ts';
import { variantsOf } from '../../../job/variants.ts';
import { durationClass, type Profile, requestLines } from './profiles.ts';
import { defaultLeaseSeconds, type Policy } from '@updraft/account/recovery';
import { hasSecrets } from '../../stored-secrets.ts';
import type { Round } from '../../pool.ts';
import { batchName, condorFiles, condorRoundFiles } from '../condor-files.ts';
import type { CondorVersion } from '../tools/condor-tools.ts';
import { avoidance, avoidLines, condorPolicy } from './condor-policy.ts';
import { recoveryLines } from './recovery-lines.ts';
import {
  imageTokenName,
  isFetchedInJob,
  nativeName,
  tokenName,
  agentInput,
  type AgentInput,
  anyNeedsPlugin,
} from './job-inputs.ts';
import { assertOneImageKind, imageInputs, imageLines } from './render-image.ts';
import { adString, environmentValue, literal } from './submit-text.ts';
import { Fault } from '@updraft/account/fault';

export interface SubmitInput {
  plan: Plan;
  profile: Profile;
  version: CondorVersion;
  /** Name of the run, by which its jobs are found in the queue. */
  run: string;
  /** The user's settings that the agent and the plugin need. */
  environment: Record<string, string>;
  /** The jobs to submit now; all by default. */
  round?: Round | undefined;
}

/** Disk that the agent needs, packed and unpacked. */
const agentBytes = 170e6;
/** The agent enforces the time limit and cleans up; HTCondor's limit is for an agent that cannot. */
const graceSeconds = 600;

/** A submit file, and the item data of its queue statement. */
export interface RenderedSubmit {
  submit: string;
  items: string;
}

/**
 * The submit file of a run, to be submitted from its folder: no path in it leads outside, and of the user's texts it
 * has only what HTCondor must know. Pure.
 */
export function renderSubmit(input: SubmitInput): RenderedSubmit {
  const { plan, profile, run } = input;
  const variants = variantsOf(plan);
  assertOneImageKind(variants);
  const agent = {
    ...agentInput(plan, input.version),
    hasPlugin: anyNeedsPlugin(plan),
    fetchesWeb: variants.flatMap(fetchedBy).some(({ method }) => method === 'https'),
  };
  const { lines, columns } = varyLines(variants.map((one) => bodyLines({ ...input, plan: one }, agent)));
  const submit = [
    `# Jobs: ${input.round?.jobs.length ?? plan.jobs.length}, of the run ${run}, ` +
      `for ${profile.title}. Made by Updraft; submit from the run's folder.`,
    ...lines,
    '',
    ...queueLines(input, columns),
    '',
  ];
  return { submit: submit.join('\n'), items: renderItems(input, variants, columns) };
}

/** What all jobs of a run have, if one of them needs it. */
interface SharedInput extends AgentInput {
  hasPlugin: boolean;
  fetchesWeb: boolean;
}

/** All that may differ between the jobs of a run. */
function bodyLines(input: SubmitInput, agent: SharedInput): string[] {
  const policy = condorPolicy(input.plan, input.profile);
  return [
    ...programLines(input),
    '',
    ...fileLines(input, agent),
    '',
    ...resourceLines(input),
    '',
    ...identityLines(input),
    '',
    '# How failures are handled, with no user logged in',
    ...recoveryLines(policy),
    ...limitLines(input.plan, policy),
  ];
}

/** The submit file of an interactive job: the same machine, image and files, and a shell instead of the training. */
export function renderShell(input: SubmitInput, more: string[]): string {
  const { environment } = input;
  const inputs = [...(input.plan.files.length > 0 ? [`${runFiles.files}/`] : []), ...more];
  const sent = inputs.length > 0 ? [`transfer_input_files = ${inputs.join(', ')}`] : [];
  return [
    ...imageLines(input.plan, input.version),
    ...(Object.keys(environment).length === 0 ? [] : [`environment = ${environmentValue(environment)}`]),
    'should_transfer_files = YES',
    'when_to_transfer_output = ON_EXIT',
    'transfer_output_files = ""',
    ...sent,
    ...resourceLines(input),
    ...accountLines(input),
    ...poolLines(input),
    `batch_name = ${literal(input.run)}`,
    'log = shell.log',
    'queue',
    '',
  ].join('\n');
}

function programLines({ plan, version, environment }: SubmitInput): string[] {
  return [
    ...imageLines(plan, version),
    `executable = ${condorFiles.launcher}`,
    'arguments = "$(job).json"',
    ...(Object.keys(environment).length === 0 ? [] : [`environment = ${environmentValue(environment)}`]),
    'want_io_proxy = true',
    'want_graceful_removal = true',
  ];
}

const numberOf = ({ round }: SubmitInput): number => round?.number ?? 1;

function fileLines(input: SubmitInput, agent: SharedInput): string[] {
  const { plan, environment, version } = input;
  const { files, filesIn = runFiles.files, spec } = plan;
  const data = fetchedBy(plan);
  const sent = [
    ...agent.input,
    `${condorRoundFiles(numberOf(input)).orders}/$(job).json`,
    ...(files.length > 0 ? [filesIn] : []),
    ...imageInputs(plan, version),
    ...(plan.imageTokenFile === undefined ? [] : [imageTokenName(plan)]),
    ...(spec.train.checkpoint === undefined ? [] : [`${runFiles.jobs}/$(job)/${sandboxFiles.checkpoint}`]),
    ...data.flatMap(inputsOf),
    ...(hasSecrets(plan) ? [condorFiles.secrets] : []),
    ...(environment['SSL_CERT_FILE'] === undefined ? [] : [condorFiles.authority]),
  ];
  // A plugin that comes with the job takes precedence over the machine's, for each scheme that it is named for.
  const web = agent.fetchesWeb ? ',https,http' : '';
  return [
    'should_transfer_files = YES',
    // On eviction too, to keep a checkpoint and the attempt's journal.
    'when_to_transfer_output = ON_EXIT_OR_EVICT',
    ...agent.common,
    `transfer_input_files = ${sent.join(', ')}`,
    ...(hasSecrets(plan) ? [`encrypt_input_files = *${sandboxFiles.secrets}`] : []),
    `transfer_output_files = ${runFiles.jobs}, ${runFiles.results}`,
    ...checkpointLines(plan),
    ...(agent.hasPlugin ? [`transfer_plugins = osdf,pelican,stash${web}=${condorFiles.plugin}`] : []),
    `output = ${condorFiles.said}/$(job).out`,
    `error = ${condorFiles.said}/$(job).err`,
    `log = ${condorFiles.eventLog}`,
  ];
}

/** With this exit code the agent has saved a checkpoint: HTCondor stores it and restarts the agent there. */
function checkpointLines({ spec }: Plan): string[] {
  if (spec.train.checkpoint === undefined) return [];
  return ['checkpoint_exit_code = 85', `transfer_checkpoint_files = ${runFiles.jobs}`];
}

/** What HTCondor transfers to the sandbox for a data source. */
export function inputsOf(source: PlannedData): string[] {
  const token = source.tokenFile === undefined ? [] : [`${condorFiles.inputs}/${tokenName(source)}`];
  if (source.method === 'native') return [nativeName(source)];
  if (isFetchedInJob(source)) return token;
  return [literal(submittedUrl(source.url)), ...token];
}

function resourceLines({ plan, profile }: SubmitInput): string[] {
  const { cpus, gpus, gpu } = plan.spec.resources;
  const policy = condorPolicy(plan, profile);
  const landed = fetchedBy(plan).filter(({ method }) => method === 'https');
  const archives = landed.reduce((sum, { expect }) => sum + (expect.bytes ?? 0), 0);
  const lines = [`request_cpus = ${cpus}`, ...requestLines(policy, archives + agentBytes)];
  if (gpus > 0) {
    lines.push(`request_gpus = ${gpus}`);
    if (gpu?.capability !== undefined) lines.push(`gpus_minimum_capability = ${gpu.capability}`);
    if (gpu?.memoryBytes !== undefined)
      lines.push(`gpus_minimum_memory = ${Math.ceil(gpu.memoryBytes / 2 ** 20)} MB`);
    if (gpu?.cuda !== undefined) lines.push(`gpus_minimum_runtime = ${gpu.cuda}`);
    for (const [name, value] of Object.entries(profile.gpuAttributes)) lines.push(`MY.${name} = ${value}`);
  }
  const conditions = [plan.spec.run.requirements, avoidance(policy)].filter((one) => one !== undefined);
  if (conditions.length > 0)
    lines.push(`requirements = ${conditions.map((one) => `(${literal(one)})`).join(' && ')}`);
  return lines;
}

function identityLines(input: SubmitInput): string[] {
  return [
    `batch_name = ${literal(batchName(input.run, numberOf(input)))}`,
    'description = $(what)',
    `MY.UpdraftRun = ${adString(input.run)}`,
    'MY.UpdraftJob = "$(job)"',
    // Appears beside each submission in the log, to explain our exit codes to its readers.
    `submit_event_notes = Updraft run ${literal(input.run)}`,
    ...accountLines(input),
    ...poolLines(input),
    'ulog_execute_attrs = GLIDEIN_ResourceName, GLIDEIN_Site, Machine',
    ...avoidLines(condorPolicy(input.plan, input.profile)),
  ];
}

/** What the pool needs for accounting and queues. */
function accountLines({ plan, profile }: SubmitInput): string[] {
  const { project } = plan.spec.run;
  const duration = durationClass(plan, profile);
  const forGpus = plan.spec.resources.gpus > 0 && profile.gpuDurations !== undefined;
  const attribute = forGpus ? profile.gpuDurationAttribute : profile.durationAttribute;
  return [
    ...(project === undefined ? [] : [`MY.ProjectName = ${adString(project)}`]),
    ...(attribute === undefined || duration === undefined
      ? []
      : [`MY.${attribute} = ${adString(duration.name)}`]),
  ];
}

/** The user's own lines: commands as written, and attributes of the job with strings quoted. */
function poolLines({ plan }: SubmitInput): string[] {
  return Object.entries(plan.spec.pool?.submit ?? {}).map(([name, value]) => {
    const attribute = /^(?:\+|MY\.)(.+)$/i.exec(name)?.[1];
    if (attribute === undefined) return `${name} = ${literal(String(value))}`;
    return `MY.${attribute} = ${typeof value === 'string' ? adString(value) : value}`;
  });
}

function limitLines({ spec }: Plan, { leaseSeconds = defaultLeaseSeconds }: Policy): string[] {
  const { timeSeconds } = spec.resources;
  const lease = `job_lease_duration = ${leaseSeconds}`;
  if (timeSeconds === undefined) return [lease];
  return [lease, `allowed_execute_duration = ${Math.round(timeSeconds * 1.1) + graceSeconds}`];
}

function queueLines(input: SubmitInput, columns: VariedLines['columns']): string[] {
  const { maxQueued, maxIdle } = input.profile;
  const many = (input.round?.jobs ?? input.plan.jobs).length > maxIdle;
  const variables = ['job', 'what', ...columns.map(({ name }) => name)];
  return [
    ...(many ? [`max_materialize = ${maxQueued}`, `max_idle = ${maxIdle}`] : []),
    `queue ${variables.join(',')} from ${condorRoundFiles(numberOf(input)).items}`,
  ];
}

/** Occurs in no text. */
const separator = '\u001f';

/** The item data of the queue statement: the job's id, a description, and what differs from other jobs. */
function renderItems(
  { plan, round }: SubmitInput,
  variants: Plan[],
  columns: VariedLines['columns'],
): string {
  const included = round === undefined ? undefined : new Set(round.jobs);
  const variantOf = new Map(variants.flatMap(({ jobs }, index) => jobs.map(({ id }) => [id, index])));
  const names = jobNames(plan.jobs);
  return plan.jobs
    .filter(({ id }) => included?.has(id) ?? true)
    .map(({ id }) => {
      const own = columns.map(({ values }) => values[variantOf.get(id) ?? 0] ?? '');
      return `${[id, sanitize(`job ${jobLabel(id, names.get(id))}`), ...own].join(separator)}\n`;
    })
    .join('');
}

/** For readers of the queue, without characters that mean something in a submit file. */
const sanitize = (text: string): string => text.replace(/[^\p{L}\p{N} ._=+:/-]/gu, '_').slice(0, 120);

/** Lines of one submit file for jobs that differ: what differs is a variable of the item data. */
interface VariedLines {
  lines: string[];
  /** The variables, each with its value for every variant. */
  columns: { name: string; values: string[] }[];
}

/** Commands that HTCondor takes once for all jobs of a cluster. */
const ofCluster = new Set(['universe', 'executable', 'log', 'batch_name']);

/**
 * Joins the submit files of several variants. Jobs of one cluster keep their order in the queue, whatever they differ
 * in. Pure.
 */
function varyLines(variants: readonly (readonly string[])[]): VariedLines {
  const [first = [], ...others] = variants;
  if (others.length === 0) return { lines: [...first], columns: [] };
  const values = variants.map((lines) => new Map(lines.flatMap(toCommand)));
  const columns: VariedLines['columns'] = [];
  const lines = joinedOrder(variants).map((line) => {
    const [command] = toCommand(line);
    if (command === undefined) return line;
    const [name] = command;
    const each = values.map((one) => one.get(name) ?? absent(name));
    if (new Set(each).size === 1) return line;
    if (ofCluster.has(name)) throw cannotVary(name);
    const variable = `job_${name.replace(/^MY\./, '').toLowerCase()}`;
    columns.push({ name: variable, values: each });
    return `${name} = $(${variable})`;
  });
  return { lines, columns };
}

/** The value of a command that a job does not have: left out, it would have that of the cluster's first job. */
function absent(name: string): string {
  if (name.startsWith('MY.')) return 'undefined';
  if (name === 'request_gpus') return '0';
  // These mean nothing to a job without GPUs.
  if (name.startsWith('gpus_minimum_')) return '';
  throw cannotVary(name);
}

const toCommand = (line: string): [string, string][] => {
  const [, name, value] = /^([\w.+]+) = (.*)$/s.exec(line) ?? [];
  return name === undefined ? [] : [[name, value ?? '']];
};

const nameIn = (line: string): string => toCommand(line)[0]?.[0] ?? '';

/** All lines of the first variant, and after their predecessors those that only others have. */
function joinedOrder([first = [], ...others]: readonly (readonly string[])[]): string[] {
  const joined = [...first];
  const known = new Set(first.map(nameIn));
  for (const lines of others)
    for (const [index, line] of lines.entries()) {
      const name = nameIn(line);
      if (name === '' || known.has(name)) continue;
      const before = nameIn(lines[index - 1] ?? '');
      const at = joined.findIndex((one) => before !== '' && nameIn(one) === before);
      joined.splice(at === -1 ? joined.length : at + 1, 0, line);
      known.add(name);
    }
  return joined;
}

const cannotVary = (name: string): Fault =>
  new Fault(
    'file-invalid',
    `the jobs of the matrix differ in "${name}" of the submit file, ` +
      'which HTCondor takes once for all jobs of a submission',
    { fix: 'give all jobs the same there, or make a run for each value' },
  );
