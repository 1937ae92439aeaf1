import { given } from '@updraft/base';
import { jobLabel, jobNames } from '@updraft/account/parameters';
import { runFiles, sandboxFiles, submittedUrl } from '@updraft/account/run-folder';
import { fetchedBy, type Plan, type PlannedData } from '../../../job/plan.ts';
import { variantsOf } from '../../../job/variants.ts';
import { durationClass, type Profile, requestLines, hadAllMemory } from './profiles.ts';
import { defaultLeaseSeconds, type Policy, allowedRemedy } from '@updraft/account/recovery';
import { hasSecrets } from '../../stored-secrets.ts';
import type { Round } from '../../pool.ts';
import { batchName, condorFiles, condorRoundFiles } from '../condor-files.ts';
import type { CondorVersion } from '../tools/condor-tools.ts';
import {
  avoidance,
  avoidLines,
  condorPolicy,
  endlessVacates,
  failures,
  forgivenStarts,
  rankExpression,
} from './condor-policy.ts';
import {
  imageTokenName,
  isFetchedInJob,
  nativeName,
  tokenName,
  agentInput,
  type AgentInput,
  anyNeedsPlugin,
} from './job-inputs.ts';
import { assertOneImageKind, imageInputs, imageLines, isFederated } from './render-image.ts';
import { adString, environmentValue, literal } from './submit-text.ts';
import { Fault, kinds } from '@updraft/account/fault';
import {
  type CodeRow,
  codeRows,
  codeRowsOf,
  exitCodesFor,
  finalFailures,
  lastSignal,
  patternOf,
  policyHoldCode,
  policySubcodes,
  type Remedy,
  signalBase,
} from '@updraft/account/codes';

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
  const inputs = given(input.plan.files.length > 0 && `${runFiles.files}/`, ...more);
  return given(
    ...imageLines(input.plan, input.version),
    Object.keys(environment).length > 0 && `environment = ${environmentValue(environment)}`,
    'should_transfer_files = YES',
    'when_to_transfer_output = ON_EXIT',
    'transfer_output_files = ""',
    inputs.length > 0 && `transfer_input_files = ${inputs.join(', ')}`,
    isFederated(input.plan) && `transfer_plugins = osdf,pelican,stash=${condorFiles.plugin}`,
    ...resourceLines(input),
    ...accountLines(input),
    ...poolLines(input),
    `batch_name = ${literal(input.run)}`,
    'log = shell.log',
    'queue',
    '',
  ).join('\n');
}

function programLines({ plan, version, environment }: SubmitInput): string[] {
  return given(
    ...imageLines(plan, version),
    `executable = ${condorFiles.launcher}`,
    'arguments = "$(job).json"',
    Object.keys(environment).length > 0 && `environment = ${environmentValue(environment)}`,
    'want_io_proxy = true',
    'want_graceful_removal = true',
  );
}

const numberOf = ({ round }: SubmitInput): number => round?.number ?? 1;

function fileLines(input: SubmitInput, agent: SharedInput): string[] {
  const { plan, environment, version } = input;
  const { files, filesIn = runFiles.files, spec } = plan;
  const data = fetchedBy(plan);
  const sent = given(
    ...agent.input,
    `${condorRoundFiles(numberOf(input)).orders}/$(job).json`,
    files.length > 0 && filesIn,
    ...imageInputs(plan, version),
    plan.imageTokenFile !== undefined && imageTokenName(plan),
    spec.train.checkpoint !== undefined && `${runFiles.jobs}/$(job)/${sandboxFiles.checkpoint}`,
    ...data.flatMap(inputsOf),
    hasSecrets(plan) && condorFiles.secrets,
    environment['SSL_CERT_FILE'] !== undefined && condorFiles.authority,
  );
  // A plugin that comes with the job takes precedence over the machine's, for each scheme that it is named for.
  const web = agent.fetchesWeb ? ',https,http' : '';
  return given(
    'should_transfer_files = YES',
    // On eviction too, to keep a checkpoint and the attempt's journal.
    'when_to_transfer_output = ON_EXIT_OR_EVICT',
    ...agent.common,
    `transfer_input_files = ${sent.join(', ')}`,
    hasSecrets(plan) && `encrypt_input_files = *${sandboxFiles.secrets}`,
    `transfer_output_files = ${runFiles.jobs}, ${runFiles.results}`,
    ...checkpointLines(plan),
    agent.hasPlugin && `transfer_plugins = osdf,pelican,stash${web}=${condorFiles.plugin}`,
    `output = ${condorFiles.said}/$(job).out`,
    `error = ${condorFiles.said}/$(job).err`,
    `log = ${condorFiles.eventLog}`,
  );
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
  }
  for (const [name, value] of Object.entries({
    ...profile.attributes,
    ...(gpus > 0 && profile.gpuAttributes),
  }))
    lines.push(`MY.${name} = ${literal(value)}`);
  const conditions = given(plan.spec.run.requirements, avoidance(policy));
  if (conditions.length > 0)
    lines.push(`requirements = ${conditions.map((one) => `(${literal(one)})`).join(' && ')}`);
  const hasOwnRank = Object.keys(plan.spec.pool?.submit ?? {}).some((name) => name.toLowerCase() === 'rank');
  const rank = hasOwnRank ? undefined : rankExpression(plan.places ?? []);
  if (rank !== undefined) lines.push(`rank = ${rank}`);
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
  return given(
    project !== undefined && `MY.ProjectName = ${adString(project)}`,
    ...(attribute === undefined || duration === undefined
      ? []
      : [`MY.${attribute} = ${adString(duration.name)}`]),
  );
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
  const included = round && new Set(round.jobs);
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

/** Starts beyond the attempts that a job may lose before its program runs. */
const startsBeyondAttempts = 20;

/** A number of failures after which the answers no longer change. */
const manyFailures = 1000;

/**
 * What the schedd does about failures with no user logged in, as lines of the submit file. Expressions that several
 * rules need are attributes of the job, so that people can read the rules, and query: condor_q -af UpdraftFailures.
 * Pure.
 */
export function recoveryLines(policy: Policy): string[] {
  const { initialBackoff, maxBackoff } = policy.backoff;
  return [
    `MY.UpdraftFailures = ${failures}`,
    `MY.UpdraftPause = min({${maxBackoff}, ${initialBackoff} * pow(2, UpdraftFailures - 1)})`,
    `MY.UpdraftHadAllMemory = ${hadAllMemory(policy)}`,
    ...exitLines(policy),
    ...releaseLines(policy),
    ...holdLines(policy),
  ];
}

/** Answers to an exit code that need no wait at first. */
const placeAnswers: readonly Remedy[] = ['elsewhere', 'more-disk', 'more-memory'];

/** An attempt that ended by itself is retried elsewhere at once, or held for a while, or was the last. */
function exitLines(policy: Policy): string[] {
  const { immediateRetries } = policy.backoff;
  const mayGoOn = `UpdraftFailures < ${policy.attempts}`;
  const atFailures = (failures: number): string => members(exitCodesFor(placeAnswers, failures));
  const otherPlace = finalFailures().reduceRight(
    (rest, final) => `UpdraftFailures < ${final} ? ${atFailures(final - 1)} : ${rest}`,
    atFailures(manyFailures),
  );
  const short = `ExitCode == ${kinds['memory-exceeded'].exit} && UpdraftHadAllMemory`;
  const waiting = members(exitCodesFor(['later'], manyFailures));
  const killed = 'ExitBySignal =?= true';
  return [
    `MY.UpdraftOtherPlace = ExitBySignal =!= true && !(${short}) && (${otherPlace})`,
    `on_exit_remove = !(${mayGoOn}${inTime(policy, 'time()')} && ` +
      `UpdraftOtherPlace && UpdraftFailures <= ${immediateRetries})`,
    `on_exit_hold = ${mayGoOn}${inTime(policy, 'time() + UpdraftPause')} && (${killed} ` +
      `|| ${waiting} || (UpdraftOtherPlace && UpdraftFailures > ${immediateRetries}))`,
    `on_exit_hold_reason = ifThenElse(${killed}, strcat("the agent was ended by ` +
      'signal ", ExitSignal), strcat("the attempt ended with exit code ", ExitCode))',
    `on_exit_hold_subcode = ifThenElse(${killed}, ${signalBase} + ExitSignal, ExitCode)`,
  ];
}

/** That the attempt would begin before the job is given up; computable from the log, too. */
const inTime = ({ giveUpSeconds }: Policy, begins: string): string =>
  giveUpSeconds === undefined ? '' : ` && (${begins} - QDate) < ${giveUpSeconds}`;

const members = (codes: readonly number[], name = 'ExitCode'): string =>
  `member(${name}, {${codes.join(', ')}})`;

/** Holds that a retry may fix are released, each time later; all others stay. */
function releaseLines(policy: Policy): string[] {
  const { immediateRetries } = policy.backoff;
  const answerOf = ({ answer = 'never' }: CodeRow): string =>
    answer === 'requeued' ? 'never' : allowedRemedy(policy, answer, 1);
  const answered = heldFor((row) => answerOf(row) !== 'never');
  const quick = heldFor((row) => !['never', 'later'].includes(answerOf(row)));
  const killed =
    `(HoldReasonCode == ${policyHoldCode} && HoldReasonSubCode > ` +
    `${signalBase} && HoldReasonSubCode <= ${signalBase + lastSignal})`;
  const ran = `(HoldReasonCode == ${policyHoldCode} && HoldReasonSubCode == ${kinds['memory-exceeded'].exit})`;
  const short = [...heldFor((row) => row.answer === 'more-memory'), ran].join(' || ');
  const exits = exitCodesFor(['later', ...placeAnswers], manyFailures);
  const own = `(HoldReasonCode == ${policyHoldCode} && ${members(exits, 'HoldReasonSubCode')})`;
  const isQuick = `UpdraftFailures <= ${immediateRetries} && (${[...quick, killed].join(' || ')})`;
  return [
    `MY.UpdraftWait = ${isQuick} ? 0 : UpdraftPause`,
    // HTCondor quotes this rule as the reason for a release, but omits a long one.
    `MY.UpdraftMayPass = (${[...answered, own, killed].join(' || ')}) && !(UpdraftHadAllMemory && (${short}))`,
    'periodic_release = UpdraftFailures < ' +
      `${policy.attempts}${inTime(policy, 'EnteredCurrentStatus + UpdraftWait')} ` +
      '&& (time() - EnteredCurrentStatus) > UpdraftWait && UpdraftMayPass',
  ];
}

/** The conditions for holds of the chosen rows; codes with the same condition are combined. */
function heldFor(isChosen: (row: CodeRow) => boolean): string[] {
  const all = new Set(codeRows.flatMap(({ codes = [] }) => codes).filter((code) => code < 1000));
  const codes = [...all].filter((code) => code !== policyHoldCode).sort((a, b) => a - b);
  return [...Map.groupBy(codes, (code) => conditionOn(codeRowsOf(code), isChosen))]
    .filter(([condition]) => condition !== 'false')
    .map(([condition, same]) => {
      const are = same.length === 1 ? `HoldReasonCode == ${same[0]}` : members(same, 'HoldReasonCode');
      return condition === 'true' ? `(${are})` : `(${are} && ${condition})`;
    });
}

/** The rows of one code as an expression: the first match decides, and neighbours that agree are one condition. */
function conditionOn(rows: readonly CodeRow[], isChosen: (row: CodeRow) => boolean): string {
  const groups: { rows: CodeRow[]; isChosen: boolean }[] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last?.isChosen === isChosen(row)) last.rows.push(row);
    else groups.push({ rows: [row], isChosen: isChosen(row) });
  }
  return groups.reduceRight((rest, group) => {
    const any = anyOf(group.rows);
    if (any === undefined) return String(group.isChosen);
    if (group.isChosen) return rest === 'false' ? any : `(${any} || ${rest})`;
    return rest === 'true' ? `!${any}` : rest === 'false' ? rest : `(!${any} && ${rest})`;
  }, 'false');
}

/** That one of the rows matches a hold with their code; undefined if one matches all. */
function anyOf(rows: readonly CodeRow[]): string | undefined {
  if (rows.some(({ subcodes, phrases }) => subcodes === undefined && phrases === undefined)) return undefined;
  const plain = rows.flatMap(({ subcodes = [], phrases }) => (phrases === undefined ? subcodes : []));
  const words = rows.flatMap((row) => (row.subcodes === undefined ? (row.phrases ?? []) : []));
  const both = rows.filter(
    ({ subcodes, phrases: pattern }) =>
      pattern !== undefined && subcodes?.some((subcode) => !plain.includes(subcode)) === true,
  );
  const parts = given(
    plain.length > 0 && members(plain, 'HoldReasonSubCode'),
    words.length > 0 && holdReasonMatches(words.join('|')),
    ...both.map(
      (row) =>
        `(${members(row.subcodes ?? [], 'HoldReasonSubCode')} && ${holdReasonMatches(row.phrases ?? '')})`,
    ),
  );
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || ')})`;
}

const holdReasonMatches = (pattern: string): string =>
  `regexp(${adString(patternOf(pattern))}, HoldReason ?: "", "i")`;

/** A job that starts over and over, or too late, is held permanently. */
function holdLines({ attempts, giveUpSeconds }: Policy): string[] {
  // A retry by hand forgives the starts before it.
  const starts = `NumShadowStarts - ${forgivenStarts}`;
  const loops = Object.entries(endlessVacates).map(
    ([code, name]) =>
      `(VacateReasonCode =?= ${code} && (NumVacatesByReason.${name} ?: ` +
      `NumShadowStarts) >= ${attempts} && ${starts} >= ${attempts})`,
  );
  const tooMany = `${starts} >= ${attempts + startsBeyondAttempts}`;
  const isLate = giveUpSeconds === undefined ? 'false' : `(time() - QDate) >= ${giveUpSeconds}`;
  // A schedd loses a reason that has quotes in it.
  const last = `replaceAll(${adString('"')}, VacateReason ?: "no reason given", "'")`;
  const times = 'NumShadowStarts == 1 ? " time" : " times"';
  const started = `strcat("started ", NumShadowStarts, ${times}, "; the last attempt ended: ", ${last})`;
  const late = `"given up: no valid result within ${giveUpSeconds ?? 0} s"`;
  const code =
    `(${members(Object.keys(endlessVacates).map(Number), '(VacateReasonCode ?: 0)')} ` +
    `? VacateReasonCode : ${policySubcodes.tooManyStarts})`;
  return [
    `MY.${forgivenStarts} = 0`,
    `periodic_hold = JobStatus == 1 && (${[tooMany, ...loops, isLate].join(' || ')})`,
    `periodic_hold_reason = ifThenElse(${isLate}, ${late}, ${started})`,
    `periodic_hold_subcode = ifThenElse(${isLate}, ${policySubcodes.tooLate}, ${code})`,
  ];
}
