import path from 'node:path';
import { maxGpus, oldGpuNames, withoutMacroSecrets } from '@updraft/htcondor/lint';
import {
  attributeValue,
  BadQuoting,
  type Batch,
  batches,
  evaluateNumber,
  fileList,
  formatQuantity,
  markedName,
  parseQuantity,
  splitArguments,
  splitEnvironment,
  type SubmitFacts,
  submittedImage,
  type SubmittedJob,
  type SubmittedQueue,
  valueOf,
} from '@updraft/htcondor/submit';
import { counted, defined, given } from '@updraft/base';
import { isSecretName, removed, textWithoutSecrets, wordsWithoutSecrets } from '@updraft/base/secrets';
import { isInside, plainPath } from '../job/inside.ts';
import { poolLineProblem } from '../job/check-pool-submit.ts';
import type { Scalar } from '../job/spec.ts';
import type { Guess } from './choose-values.ts';
import type { JobDraft, SubmittedParts } from './draft-job.ts';
import {
  asTemplate,
  asWord,
  asWordFor,
  type JobText,
  markedNames,
  matrixOf,
  openMatrix,
  textsOfJobs,
  wordText,
} from './job-texts.ts';
import { anyCluster } from '../preflight/survey-file.ts';
import { draftInputs, type Notes, programOf } from './submitted-inputs.ts';

/** Commands that have a key in the job file. */
const carried = new RegExp(
  '^(executable|shell|arguments|environment|initialdir|requirements|project_name|batch_name|\\+ProjectName|' +
    'transfer_(input|output|checkpoint)_files|transfer_executable|container_image|docker_image|' +
    'request_(cpus|gpus|memory|disk)|gpus_minimum_(capability|memory|runtime))$',
  'i',
);

/** A job file for a submit file. `open` says what to fill in, `hints` what it could not carry over. */
export function draftSubmitted(file: string, read: SubmitFacts): JobDraft | undefined {
  const facts = withoutMacroSecrets(read);
  const [batch, ...others] = batches(facts);
  const program = batch && (valueOf(batch, 'executable') ?? valueOf(batch, 'shell'));
  if (batch === undefined || program === undefined) return undefined;
  const notes: Notes = { open: [], hints: [] };
  const group = groupOf(batch, others, notes);
  if (facts.submission.problems.some(({ kind }) => kind === 'chance'))
    notes.open.push(['command', 'the submit file chooses a value at random; one of them is here']);
  for (const name of facts.submission.unset)
    notes.open.push([`$ENV(${name})`, 'it is not set here: UNDEFINED is in its place']);
  const { files, data } = draftInputs(group, notes);
  if (/^false$/i.test(valueOf(batch, 'transfer_executable') ?? '') && !path.posix.isAbsolute(program))
    notes.open.push([
      'command',
      `${program} is not sent (transfer_executable = false): it must be in the image, or among the files`,
    ]);
  const run = runOf(group, envOf(group, notes), outputsOf(group, notes), notes);
  if (run.outputs.length === 0) notes.open.push(['outputs', 'the submit file names none that is known here']);
  const left = leftOver(batch, (name) => isCarried(batch, name));
  notes.hints.push(...left.lost);
  if ((batch.queue.template ?? batch.job).commands['initialdir'] !== undefined)
    notes.hints.push('initialdir: inputs are taken from there, but results return to the folder of the run');
  const checkpoint = checkpointOf(batch, facts, notes);
  return draftWithoutSecrets({
    name: nameOf(valueOf(batch, 'batch_name') ?? '') || nameOf(path.parse(file).name) || 'adopted',
    command: run.command,
    files,
    outputs: run.outputs.length === 0 ? ['model.pt'] : run.outputs.map(asTemplate),
    ...defined({ checkpoint }),
    data,
    python: [],
    cpus: Math.max(1, wholeOf(batch, 'request_cpus', notes) ?? 1),
    memory: memoryOf(batch, notes),
    guesses: [],
    ...notes,
    submitted: {
      ...run.parts,
      lines: left.lines,
      needless: left.needless,
      env: Object.fromEntries(Object.entries(run.env).map(([name, value]) => [name, asTemplate(value)])),
      ...gpuParts(batch, notes),
      ...defined({
        image: submittedImage(batch),
        timeSeconds: timeOf(batch),
        disk: amountOf(batch, 'request_disk', 'k', notes),
        requirements: requirementsOf(batch, notes),
        project: projectOf(batch),
      }),
    },
  });
}

const nameOf = (text: string): string =>
  textWithoutSecrets(text)
    .replaceAll(removed, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, 64);

const isCarried = (batch: Batch, name: string): boolean =>
  carried.test(name) ||
  (/^allowed_(execute|job)_duration$/.test(name) && timeOf(batch) !== undefined) ||
  (name === 'universe' && /^(vanilla|container|docker)$/i.test(valueOf(batch, name) ?? '')) ||
  (/^\+SingularityImage$/i.test(name) && submittedImage(batch) !== undefined);

interface RunDraft {
  command: string;
  parts: Pick<SubmittedParts, 'jobs' | 'matrix'>;
  env: Record<string, JobText>;
  outputs: readonly JobText[];
}

/** One command for all jobs; what differs between them becomes a parameter. */
function runOf(
  all: readonly Batch[],
  env: Record<string, JobText>,
  outputs: readonly JobText[],
  notes: Notes,
): RunDraft {
  const wordsOf = ({ commands }: SubmittedJob): string[] =>
    wordsWithoutSecrets(
      commands['executable'] === undefined
        ? ['/bin/sh', '-c', commands['shell'] ?? '']
        : [
            programOf(commands),
            ...splitWords(splitArguments, commands['arguments'] ?? '', 'arguments', notes),
          ],
    );
  const [first] = all;
  const words = first && all.length === 1 ? textsOfJobs(first.queue, wordsOf) : undefined;
  const names = markedNames([...(words ?? []), ...Object.values(env), ...outputs]);
  const matrix = first && words && matrixOf(first.queue.jobs, names);
  if (words === undefined || matrix === undefined) return listedRun(all, wordsOf, env, outputs, notes);
  const size = Object.values(matrix).reduce((product, values) => product * values.length, 1);
  const copies = Math.round((first?.queue.total ?? 1) / size);
  const isUnknown = first?.queue.total === undefined;
  const known = isUnknown ? openMatrix(Object.keys(matrix)) : matrix;
  return {
    command: words.map(asWord).join(' '),
    parts: {
      ...(Object.keys(known).length === 0 ? {} : { matrix: known }),
      ...(copies > 1 ? { jobs: copies } : {}),
    },
    env,
    outputs,
  };
}

/** A list of whole commands, for jobs that no combination of parameters makes. */
function listedRun(
  all: readonly Batch[],
  wordsOf: (job: SubmittedJob) => string[],
  env: Record<string, JobText>,
  outputs: readonly JobText[],
  notes: Notes,
): RunDraft {
  const isCommon = (text: JobText): boolean => markedNames([text]).length === 0;
  const own = Object.entries(env).filter(([, text]) => !isCommon(text));
  const commands = all.flatMap(({ queue }) => {
    const words = textsOfJobs(queue, wordsOf);
    return queue.jobs.map((job) =>
      [
        ...own.map(([name, text]) => `${name}=${asWordFor(job, text)}`),
        ...(words ?? wordsOf(job).map(wordText)).map((text) => asWordFor(job, text)),
      ].join(' '),
    );
  });
  for (const text of outputs.filter((one) => !isCommon(one)))
    notes.open.push(['outputs', `${asTemplate(text)} differs between jobs: use a fixed name`]);
  return {
    command: 'sh -c {command}',
    parts: { matrix: { command: [...new Set(commands)] } },
    env: Object.fromEntries(Object.entries(env).filter(([, text]) => isCommon(text))),
    outputs: outputs.filter(isCommon),
  };
}

/** The jobs of queue statements that differ in their arguments only. */
const asOneQueue = (all: readonly Batch[]): Pick<SubmittedQueue, 'jobs' | 'template'> => ({
  jobs: all.flatMap(({ queue }) => queue.jobs),
  ...defined({ template: all[0]?.queue.template }),
});

function outputsOf(all: readonly Batch[], notes: Notes): JobText[] {
  const texts = textsOfJobs(asOneQueue(all), ({ commands }) =>
    fileList(commands['transfer_output_files']).filter((name) => name !== '""'),
  );
  const outputs = (texts ?? []).filter((text) => isInside(asTemplate(text)));
  const known = outputs.filter((text) => !markedNames([text]).includes('cluster'));
  if (texts === undefined) notes.open.push(['outputs', 'those of the jobs differ']);
  for (const text of outputs.filter((one) => !known.includes(one)))
    notes.open.push(['outputs', `${asTemplate(text)} has the number of the cluster in its name`]);
  return known;
}

/** What is surely a folder; a file would find a folder of its name. */
function checkpointOf(batch: Batch, { files }: SubmitFacts, { hints }: Notes): string | undefined {
  const named = fileList(valueOf(batch, 'transfer_checkpoint_files'));
  const folder = named.find(
    (name) =>
      isInside(name) &&
      (/\/$|(?:^|[/_-])(?:checkpoints|ckpts|dir|folder)$/i.test(name) || files.get(name)?.kind === 'folder'),
  );
  const others = named.filter((name) => name !== folder);
  if (others.length > 0)
    hints.push(
      `transfer_checkpoint_files: ${others.join(', ')}: Updraft keeps one folder across attempts: let the ` +
        'training save there, and name it in `checkpoint`',
    );
  return folder && plainPath(folder);
}

function envOf(all: readonly Batch[], notes: Notes): Record<string, JobText> {
  const texts = textsOfJobs(asOneQueue(all), ({ commands }) =>
    splitWords(splitEnvironment, commands['environment'] ?? '', 'environment', notes),
  );
  if (texts === undefined) notes.open.push(['env', 'the environments of the jobs differ']);
  const env: Record<string, JobText> = {};
  for (const text of texts ?? []) {
    const [first, ...rest] = text;
    const [, name = '', value = ''] =
      /^([^=]+)=(.*)$/s.exec((first && 'literal' in first && first.literal) || '') ?? [];
    const assigned = `${name}=${value}`;
    if (isSecretName(name) || textWithoutSecrets(assigned) !== assigned)
      notes.hints.push(`environment: ${name} looks like a secret, which belongs in [train.secrets]`);
    else if (markedNames([text]).includes('cluster'))
      notes.open.push([`env.${name}`, 'it has the number of the cluster in its value']);
    else if (/^(?!UPDRAFT_)[A-Za-z_]\w*$/.test(name))
      env[name] = value === '' ? rest : [{ literal: value }, ...rest];
    else
      notes.hints.push(`environment: ${name === '' ? asTemplate(text) : name} is not a name of a variable`);
  }
  return env;
}

/** The words of a value; none, with a hint, where HTCondor refuses it. */
function splitWords(
  split: (text: string) => string[],
  text: string,
  command: string,
  { hints }: Notes,
): string[] {
  try {
    return split(text);
  } catch (error) {
    if (!(error instanceof BadQuoting)) throw error;
    const hint = `${command}: it is quoted in a way that HTCondor refuses`;
    if (!hints.includes(hint)) hints.push(hint);
    return [];
  }
}

/** Not where no machine meets it any more; `gpuParts` has its figures. */
function requirementsOf(batch: Batch, notes: Notes): string | undefined {
  const text = valueOf(batch, 'requirements');
  const old = oldGpuNames(text ?? '');
  if (text === undefined || old.length === 0) return text;
  notes.hints.push(
    `requirements: \`${text}\`: machines no longer have ${old.join(', ')}; ` +
      'set gpu = { capability = …, memory = "…" } in [resources]',
  );
  return undefined;
}

function projectOf(batch: Batch): string | undefined {
  const name = attributeValue(batch, 'ProjectName')?.replaceAll('"', '') ?? valueOf(batch, 'project_name');
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) ? name : undefined;
}

function gpuParts(batch: Batch, notes: Notes): Pick<SubmittedParts, 'gpus' | 'gpu'> {
  const gpus = wholeOf(batch, 'request_gpus', notes);
  if (gpus === undefined || gpus === 0) return {};
  if (gpus > maxGpus) notes.open.push(['gpus', `no machine has the ${gpus} that the submit file requests`]);
  const oldValue = (name: string): string | undefined =>
    new RegExp(`\\b${name}\\s*>=?\\s*([\\d.]+)`, 'i').exec(valueOf(batch, 'requirements') ?? '')?.[1];
  const memory = parseQuantity(
    valueOf(batch, 'gpus_minimum_memory') ?? oldValue('CUDAGlobalMemoryMb') ?? '',
    'm',
  );
  const [capability, cuda] = [
    valueOf(batch, 'gpus_minimum_capability') ?? oldValue('CUDACapability'),
    valueOf(batch, 'gpus_minimum_runtime'),
  ];
  const least = given(
    /^\d+(\.\d+)?$/.test(capability ?? '') && `capability = ${capability}`,
    memory !== undefined && `memory = "${binaryAmount(memory.bytes)}"`,
    /^\d{1,2}\.\d{1,2}$/.test(cuda ?? '') && `cuda = "${cuda}"`,
  );
  return {
    gpus: Math.min(gpus, gpus > maxGpus ? 1 : gpus),
    ...(least.length === 0 ? {} : { gpu: `{ ${least.join(', ')} }` }),
  };
}

function wholeOf(batch: Batch, command: string, notes: Notes): number | undefined {
  const value = valueOf(batch, command);
  if (value === undefined || /^\d+$/.test(value)) return value === undefined ? undefined : Number(value);
  notes.open.push(expressionNote(command, value));
  return undefined;
}

const expressionNote = (command: string, value: string): Guess => [
  command.replace('request_', ''),
  `\`${command} = ${value}\` is an expression`,
];

function memoryOf(batch: Batch, notes: Notes): string {
  if (valueOf(batch, 'request_memory') === undefined)
    notes.open.push(['memory', 'the submit file requests none; 2 GB is a guess']);
  return amountOf(batch, 'request_memory', 'm', notes) ?? '2 GB';
}

function amountOf(batch: Batch, command: string, unit: 'k' | 'm', notes: Notes): string | undefined {
  const value = valueOf(batch, command);
  const amount = parseQuantity(value ?? '', unit);
  if (value !== undefined && amount === undefined) notes.open.push(expressionNote(command, value));
  return amount && binaryAmount(amount.bytes);
}

/** HTCondor's GB are the job file's GiB. */
const binaryAmount = (bytes: number): string => formatQuantity(bytes).replace(/B$/, 'iB');

/** Commands that Updraft does not need: it writes them, or does what they are for. */
const doneByUpdraft = new RegExp(
  '^(log|output|error|input|stream_\\w+|should_transfer_files|when_to_transfer_output|transfer_container|' +
    'max_retries|periodic_\\w+|on_exit_\\w+|success_exit_code|checkpoint_exit_code|notification|' +
    'job_lease_duration|preserve_relative_paths|ulog_execute_attrs|want_graceful_removal)$',
);

const [any, notZero] = [/^/, /^(?!0$)/];
/** Those of which a value asks for something else than Updraft does. */
const otherwise: readonly [name: RegExp, value: RegExp, instead: string][] = [
  [/^should_transfer_files$/, /^(no|false|never)$/i, 'jobs get only `files`, and return only `outputs`'],
  [/^when_to_transfer_output$/, /_or_evict$/i, 'only what is in `checkpoint` survives an eviction'],
  [/^(transfer_output_remaps|output_destination)$/, any, 'results return to a folder of each job'],
  [/^input$/, /^(?!\/dev\/null$)/, 'name the file in `files`, and end `command` with `< FILE`'],
  [/^universe$/, any, 'each job runs on one worker, in the vanilla universe'],
  [/^(max_retries|retry_until)$/, notZero, 'a failed training is not repeated: loop in `command`'],
  [/^success_exit_code$/, notZero, 'only 0 is a success: end `command` with `; [ $? -eq CODE ]`'],
  [/^periodic_remove$/, any, 'resources.time limits each attempt, run.attempts their number'],
  [/^(periodic|on_exit)_[a-z]+$/, any, 'Updraft has a rule of its own: `updraft docs recovery`'],
  [/^max_(idle|materialize)$/, any, 'no key limits how many jobs run at once; `concurrency_limits` may'],
  [/^stream_output$/, /^true$/i, '`updraft logs -f` shows the output of a running job'],
  [/^stream_error$/, /^true$/i, '`updraft logs -f --err` shows the output of a running job'],
  [/^checkpoint_exit_code$/, /^(?!85$)/, 'a training that stops after a checkpoint must exit with 85'],
  [/^notification$/, /^(?!never$)/i, '[run] on_end takes a command that sends a mail'],
];

/** What a job file has no key for. */
interface LeftOver {
  /** Lines for `[pool.submit]`. */
  lines: Record<string, Scalar>;
  /** Commands that Updraft does not need. */
  needless: string[];
  /** What is lost, by name, and why. */
  lost: string[];
}

/** Sorts every command and attribute of a job that the job file does not say in a key of its own. */
function leftOver({ job, queue }: Batch, isCarried: (command: string) => boolean): LeftOver {
  const left: LeftOver = { lines: {}, needless: [], lost: [] };
  const { commands, attributes } = queue.template ?? job;
  for (const name of Object.keys(commands).sort()) {
    const value = valueOf({ job, queue }, name);
    if (value === undefined || isCarried(name)) continue;
    const other = otherwise.find(([names, values]) => names.test(name) && values.test(value));
    if (other !== undefined) left.lost.push(`${textWithoutSecrets(`${name} = ${value}`)}: ${other[2]}`);
    else if (doneByUpdraft.test(name)) left.needless.push(name);
    else addLine(left, name, commands[name] ?? '', value);
  }
  for (const name of Object.keys(attributes).filter((one) => !isCarried(`+${one}`)))
    addLine(left, `+${name}`, attributes[name] ?? '', literalOf(job, name));
  return left;
}

/** The limit of an attempt in seconds, if the file has one. */
function timeOf(batch: Batch): number | undefined {
  const removed = valueOf(batch, 'periodic_remove') ?? '';
  const limits = [
    valueOf(batch, 'allowed_execute_duration'),
    valueOf(batch, 'allowed_job_duration'),
    /^[\s(]*RemoteWallClockTime\s*>=?([\d\s*]+)[\s)]*$/i.exec(removed)?.[1],
  ];
  const seconds = limits.map((limit) => evaluateNumber(limit ?? '') ?? 0).filter((one) => one >= 1);
  return seconds.length === 0 ? undefined : Math.round(Math.min(...seconds));
}

/** The value of an attribute, if it is a plain string, number or truth value. */
function literalOf({ attributes }: SubmittedJob, name: string): Scalar | undefined {
  const text = attributes[name]?.trim() ?? '';
  if (/^(true|false)$/i.test(text)) return /^true$/i.test(text);
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return /^"((?:[^"\\]|\\"|\\(?!"))*)"$/.exec(text)?.[1]?.replaceAll('\\"', '"');
}

function addLine(left: LeftOver, name: string, template: string, value: Scalar | undefined): void {
  const differs = template.includes(markedName('').charAt(0));
  const line = `${name} = ${String(value)}`;
  const problem = differs
    ? 'it differs between jobs'
    : textWithoutSecrets(line) !== line
      ? 'it looks like a secret, which belongs in [train.secrets]'
      : value === undefined
        ? 'it is an expression'
        : poolLineProblem(name, value)?.replace(/; remove it$/, '');
  if (problem !== undefined || value === undefined) left.lost.push(`${name}: ${problem ?? ''}`);
  else left.lines[name] = value;
}

/** Queue statements whose jobs differ from those of the first in their arguments only are carried with it. */
function groupOf(first: Batch, others: readonly Batch[], notes: Notes): Batch[] {
  const groups = Map.groupBy(others, (other) => differences(first, other).join(', '));
  const same = groups.get('') ?? [];
  groups.delete('');
  for (const [names, alike] of groups) {
    const { place, text, total } = (alike[0] ?? first).queue;
    const jobs = total === undefined ? 'jobs of unknown number' : counted(total, 'job');
    const more = alike.length === 1 ? '' : ` and ${counted(alike.length - 1, 'more queue statement')}`;
    notes.hints.push(
      `line ${place.line}, \`${text}\` (${jobs})${more}: it differs in ${names}: write a job file of its own`,
    );
  }
  const all = [first, ...same];
  for (const { queue } of all) {
    if (queue.total === undefined)
      notes.open.push(['run.matrix', `the items of \`${queue.text}\` are unknown here`]);
    // Jobs without items are counted, not listed.
    else if (queue.total > queue.jobs.length && Object.keys(queue.jobs[0]?.item ?? {}).length > 0)
      notes.hints.push(`matrix: only the first ${queue.jobs.length} of ${queue.total} jobs are listed`);
  }
  return all;
}

/** Names of jobs may differ, since Updraft gives its own. */
const mayDiffer = /^(arguments|log|output|error|batch_name|description)$/;

function differences(a: Batch, b: Batch): string[] {
  const settings = ({ queue, job }: Batch): Record<string, string> => {
    const { commands, attributes } = queue.template ?? job;
    const own = Object.entries(attributes).map(([name, value]) => [`+${name}`, value] as const);
    return Object.fromEntries([...Object.entries(commands), ...own]);
  };
  const [one, other] = [settings(a), settings(b)];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (name) => !mayDiffer.test(name) && (one[name] ?? '') !== (other[name] ?? ''),
  );
}

/** A draft that asks for the values which only `condor_submit`, a DAG or the worker knows. */
function draftToFillIn({ open, hints, ...draft }: JobDraft): JobDraft {
  const unknown = /\$\$\((\w[\w.]*)[^()]*\)/g;
  const marked = (value: object): string =>
    JSON.stringify(value).replaceAll(String(anyCluster), () => '$$(Cluster)');
  const text = marked(draft);
  for (const name of new Set(Array.from(text.matchAll(unknown), ([, found = '']) => found)))
    open.push([`FILL-IN-${name}`, `the submit file has no value for $(${name})`]);
  if (text.includes('$UPDRAFT_RUN')) hints.push("$(Cluster): the run's name, $UPDRAFT_RUN, is in its place");
  const notes = JSON.parse(marked({ open, hints }).replaceAll(unknown, '$$($1)')) as Notes;
  return { ...(JSON.parse(text.replaceAll(unknown, 'FILL-IN-$1')) as JobDraft), ...notes };
}

/** A draft that asks for what it lacks, also for secrets, which it leaves out; its command is clean already. */
function draftWithoutSecrets(draft: JobDraft): JobDraft {
  const clean = JSON.parse(JSON.stringify(draft), (key, value: unknown) =>
    typeof value === 'string'
      ? textWithoutSecrets(value)
      : Array.isArray(value) && isSecretName(key)
        ? ['[removed]']
        : value,
  ) as JobDraft;
  const why =
    'a secret was here: keep it in a file, name that in [train.secrets], and let the training read the ' +
    'variable (`updraft docs secrets`)';
  const isLeftOut = JSON.stringify({ ...clean, hints: [], open: [] }).includes('[removed]');
  return draftToFillIn(isLeftOut ? { ...clean, open: [...clean.open, ['[removed]', why]] } : clean);
}
