import path from 'node:path';
import { maxGpus, oldGpuNames, withoutMacroSecrets } from '@updraft/htcondor/lint';
import {
  attributeValue,
  BadQuoting,
  type Batch,
  batches,
  fileList,
  formatQuantity,
  parseQuantity,
  splitArguments,
  splitEnvironment,
  type SubmitFacts,
  submittedImage,
  type SubmittedJob,
  type SubmittedQueue,
  valueOf,
} from '@updraft/htcondor/submit';
import { defined } from '@updraft/base';
import { isSecretName, removed, textWithoutSecrets, wordsWithoutSecrets } from '@updraft/base/secrets';
import { isInside, plainPath } from '../../job/inside.ts';
import type { JobDraft, SubmittedParts } from '../init/draft-job.ts';
import {
  asTemplate,
  asWord,
  asWordFor,
  type JobText,
  matrixOf,
  markedNames,
  openMatrix,
  wordText,
  textsOfJobs,
} from './job-texts.ts';
import { draftWithoutSecrets, groupOf, leftOver, timeOf } from './left-over.ts';
import { draftInputs, type Notes, programOf } from './submitted-inputs.ts';

/** Commands that have a key in the job file. */
const carried =
  /^(executable|shell|arguments|environment|initialdir|transfer_(input|output|checkpoint)_files|transfer_executable|request_(cpus|gpus|memory|disk)|gpus_minimum_(capability|memory|runtime)|container_image|docker_image|requirements|project_name|batch_name|\+ProjectName)$/i;

/** A job file for a submit file. `open` says what to fill in, `hints` what it could not carry over. */
export function draftSubmitted(file: string, read: SubmitFacts): JobDraft | undefined {
  const facts = withoutMacroSecrets(read);
  const [batch, ...others] = batches(facts);
  const program = batch && (valueOf(batch, 'executable') ?? valueOf(batch, 'shell'));
  if (batch === undefined || program === undefined) return undefined;
  const notes: Notes = { open: [], hints: [] };
  const group = groupOf(batch, others, notes);
  if (facts.submission.problems.some(({ kind }) => kind === 'chance'))
    notes.open.push({
      what: 'command',
      why: 'the submit file chooses a value at random; one of them is here',
    });
  for (const name of facts.submission.unset)
    notes.open.push({ what: `$ENV(${name})`, why: 'it is not set here: UNDEFINED is in its place' });
  const { files, data } = draftInputs(group, notes);
  if (/^false$/i.test(valueOf(batch, 'transfer_executable') ?? '') && !path.posix.isAbsolute(program))
    notes.open.push({
      what: 'command',
      why: `${program} is not sent (transfer_executable = false): it must be in the image, or among the files`,
    });
  const run = runOf(group, envOf(group, notes), outputsOf(group, notes), notes);
  if (run.outputs.length === 0)
    notes.open.push({ what: 'outputs', why: 'the submit file names none that is known here' });
  const left = leftOver(batch, (name) => isCarried(batch, name));
  notes.hints.push(...left.lost);
  if ((batch.queue.template ?? batch.job).commands['initialdir'] !== undefined)
    notes.hints.push('initialdir: inputs are taken from there, but results return to the folder of the run');
  const checkpoint = checkpointOf(batch, facts, notes);
  return draftWithoutSecrets({
    name: nameOf(valueOf(batch, 'batch_name') ?? '') || nameOf(path.parse(file).name) || 'adopted',
    command: run.command,
    others: [],
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
  const [program = [], ...more] = words;
  const isItem = more.length === 1 && more[0]?.length === 1 && markedNames(more).length === 1;
  // An item may be several words.
  if (isUnknown && isItem && markedNames([...Object.values(env), ...outputs]).length === 0) {
    const parts = { matrix: { command: [`${asWord(program)} FILL IN`] } };
    return { command: 'sh -c {command}', parts, env, outputs };
  }
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
    notes.open.push({ what: 'outputs', why: `${asTemplate(text)} differs between jobs: use a fixed name` });
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
  if (texts === undefined) notes.open.push({ what: 'outputs', why: 'those of the jobs differ' });
  for (const text of outputs.filter((one) => !known.includes(one)))
    notes.open.push({
      what: 'outputs',
      why: `${asTemplate(text)} has the number of the cluster in its name`,
    });
  return known;
}

/** What is surely a folder; a file would find a folder of its name. */
function checkpointOf(batch: Batch, { files, wrapper }: SubmitFacts, { hints }: Notes): string | undefined {
  const made = [...(wrapper?.text ?? '').matchAll(/\bmkdir\b([^\n;&|]*)/g)].flatMap(([, words = '']) =>
    words.split(/[\s"']+/).map(plainPath),
  );
  const isFolder = (name: string): boolean =>
    /\/$|(?:^|[/_-])(?:checkpoints|ckpts|dir|folder)$/i.test(name) ||
    files.get(name)?.kind === 'folder' ||
    made.includes(plainPath(name));
  const named = fileList(valueOf(batch, 'transfer_checkpoint_files'));
  const folder = named.find((name) => isInside(name) && isFolder(name));
  const others = named.filter((name) => name !== folder);
  if (others.length > 0)
    hints.push(
      `transfer_checkpoint_files: ${others.join(', ')}: Updraft keeps one folder across attempts: let the training save there, and name it in \`checkpoint\``,
    );
  return folder && plainPath(folder);
}

function envOf(all: readonly Batch[], notes: Notes): Record<string, JobText> {
  const texts = textsOfJobs(asOneQueue(all), ({ commands }) =>
    splitWords(splitEnvironment, commands['environment'] ?? '', 'environment', notes),
  );
  if (texts === undefined) notes.open.push({ what: 'env', why: 'the environments of the jobs differ' });
  const env: Record<string, JobText> = {};
  for (const text of texts ?? []) {
    const [first, ...rest] = text;
    const [, name = '', value = ''] =
      /^([^=]+)=(.*)$/s.exec((first && 'literal' in first && first.literal) || '') ?? [];
    const assigned = `${name}=${value}`;
    if (isSecretName(name) || textWithoutSecrets(assigned) !== assigned)
      notes.hints.push(`environment: ${name} looks like a secret, which belongs in [train.secrets]`);
    else if (markedNames([text]).includes('cluster'))
      notes.open.push({ what: `env.${name}`, why: 'it has the number of the cluster in its value' });
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

/** Without conditions that no machine meets any more; `gpuParts` has their figures. */
function requirementsOf(batch: Batch, notes: Notes): string | undefined {
  const text = valueOf(batch, 'requirements');
  const old = oldGpuNames(text ?? '');
  if (text === undefined || old.length === 0) return text;
  const parts = /\|\||\?/.test(text) ? [text] : text.split('&&').map((part) => part.trim());
  const isWhole = (part: string): boolean => part.split('(').length === part.split(')').length;
  const kept = parts.every(isWhole) ? parts.filter((part) => oldGpuNames(part).length === 0) : [];
  const lost = kept.length === 0 ? text : parts.filter((part) => !kept.includes(part)).join(' && ');
  notes.hints.push(
    `requirements: \`${lost}\`: machines no longer have ${old.join(', ')}; set gpu = { capability = …, memory = "…" } in [resources]`,
  );
  return kept.length === 0 ? undefined : kept.join(' && ');
}

function projectOf(batch: Batch): string | undefined {
  const name = attributeValue(batch, 'ProjectName')?.replaceAll('"', '') ?? valueOf(batch, 'project_name');
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) ? name : undefined;
}

function gpuParts(batch: Batch, notes: Notes): Pick<SubmittedParts, 'gpus' | 'gpu'> {
  const gpus = wholeOf(batch, 'request_gpus', notes);
  if (gpus === undefined || gpus === 0) return {};
  if (gpus > maxGpus)
    notes.open.push({ what: 'gpus', why: `no machine has the ${gpus} that the submit file requests` });
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
  const least = [
    ...(/^\d+(\.\d+)?$/.test(capability ?? '') ? [`capability = ${capability}`] : []),
    ...(memory === undefined ? [] : [`memory = "${binaryAmount(memory.bytes)}"`]),
    ...(/^\d{1,2}\.\d{1,2}$/.test(cuda ?? '') ? [`cuda = "${cuda}"`] : []),
  ];
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

const expressionNote = (command: string, value: string): Notes['open'][number] => ({
  what: command.replace('request_', ''),
  why: `\`${command} = ${value}\` is an expression`,
});

function memoryOf(batch: Batch, notes: Notes): string {
  if (valueOf(batch, 'request_memory') === undefined)
    notes.open.push({ what: 'memory', why: 'the submit file requests none; 2 GB is a guess' });
  return amountOf(batch, 'request_memory', 'm', notes) ?? '2 GB';
}

function amountOf(batch: Batch, command: string, unit: 'k' | 'm', notes: Notes): string | undefined {
  const value = valueOf(batch, command);
  const amount = parseQuantity(value ?? '', unit);
  if (value !== undefined && amount === undefined) notes.open.push(expressionNote(command, value));
  return amount === undefined ? undefined : binaryAmount(amount.bytes);
}

/** HTCondor's GB are the job file's GiB. */
const binaryAmount = (bytes: number): string => formatQuantity(bytes).replace(/B$/, 'iB');
