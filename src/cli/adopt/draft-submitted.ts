import path from 'node:path';
import { BadQuoting, splitArguments, splitEnvironment } from '../../adopt/split-arguments.ts';
import {
  attributeValue,
  type Batch,
  batches,
  fileList,
  formatQuantity,
  isUrl,
  parseQuantity,
  type SubmitFacts,
  valueOf,
} from '../../adopt/submit-facts.ts';
import { defined } from '../../base/defined.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import { isInside } from '../../job/inside.ts';
import type { DraftData } from '../init/draft-data.ts';
import type { JobDraft } from '../init/draft-job.ts';

/** Commands that a job file needs no key for: Updraft writes them, or does what they are for. */
const needless =
  /^(executable|arguments|environment|transfer_(input|output|checkpoint)_files|transfer_output_remaps|request_(cpus|gpus|memory|disk)|container_image|docker_image|universe|should_transfer_files|when_to_transfer_output|log|output|error|max_retries|periodic_release|on_exit_\w+|retry_until|success_exit_code|checkpoint_exit_code|transfer_executable|batch_name|notification|requirements|gpus_minimum_\w+|project_name|preserve_relative_paths|stream_\w+|max_idle|max_materialize)$/;

/** A job file for the first queue statement of a submit file; `hints` say what it could not carry over. */
export function draftSubmitted(file: string, facts: SubmitFacts): JobDraft | undefined {
  const [batch, ...others] = batches(facts);
  const program = batch === undefined ? undefined : valueOf(batch, 'executable');
  if (batch === undefined || program === undefined) return undefined;
  const hints: string[] =
    others.length === 0 ? [] : ['only the first queue statement: write a job file for each'];
  const inputs = fileList(valueOf(batch, 'transfer_input_files'));
  const isSent = !/^false$/i.test(valueOf(batch, 'transfer_executable') ?? 'true');
  const local = [...(isSent ? [program] : []), ...inputs.filter((name) => !isUrl(name))];
  for (const name of local.filter((one) => !isInside(one)))
    hints.push(`files: ${name} is not in the file's folder`);
  for (const name of inputs.filter((one) => !isUrl(one) && one.replace(/\/$/, '').includes('/')))
    hints.push(`files: ${name} stays in its folder, where HTCondor puts it at the top`);
  const outputs = fileList(valueOf(batch, 'transfer_output_files')).filter(isInside);
  const run = runOf(batch, isSent ? `./${path.posix.normalize(program)}` : program, hints);
  const checkpoint = fileList(valueOf(batch, 'transfer_checkpoint_files')).find(isInside);
  if (inputs.some(isUrl)) hints.push('data: URLs arrive in data/, where HTCondor puts them at the top');
  hints.push(...leftOver(batch));
  return {
    name: nameOf(file),
    command: run.command,
    others: [],
    files: [...new Set(local.filter(isInside).map((name) => path.posix.normalize(name).replace(/\/$/, '')))],
    outputs: outputs.length === 0 ? ['model.pt'] : outputs,
    ...defined({ checkpoint }),
    data: inputs.filter(isUrl).map(dataOf),
    python: [],
    cpus: wholeOf(batch, 'request_cpus') ?? 1,
    memory: amountOf(batch, 'request_memory', 'm') ?? '2 GB',
    guesses: [],
    open: outputs.length === 0 ? [{ what: 'outputs', why: 'the submit file names none' }] : [],
    hints,
    submitted: {
      ...run.parts,
      env: envOf(batch, hints),
      ...defined({
        image: imageOf(batch),
        gpus: wholeOf(batch, 'request_gpus'),
        disk: amountOf(batch, 'request_disk', 'k'),
        requirements: valueOf(batch, 'requirements'),
        project: projectOf(batch),
      }),
    },
  };
}

const nameOf = (file: string): string =>
  path
    .parse(file)
    .name.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64) || 'adopted';

/** One command for all jobs; what differs between them becomes a parameter. */
function runOf(
  { queue }: Batch,
  program: string,
  hints: string[],
): { command: string; parts: { jobs?: number; matrix?: Record<string, string[]> } } {
  const rows = queue.jobs.map(({ commands }) => wordsOf(commands['arguments'] ?? '', hints));
  const total = queue.total ?? rows.length;
  if (queue.total === undefined) hints.push('matrix: the items of the queue statement are unknown here');
  else if (total > rows.length)
    hints.push(`matrix: only the first ${rows.length} of ${total} jobs are listed`);
  const [first = []] = rows;
  const escaped = (word: string): string => shellQuote(word).replaceAll(/[{}]/g, '$&$&');
  if (rows.every((row) => row.join('\0') === first.join('\0')))
    return {
      command: [program, ...first].map(escaped).join(' '),
      parts: total > 1 ? { jobs: total } : {},
    };
  const varying = first.map((_, at) => at).filter((at) => new Set(rows.map((row) => row[at])).size > 1);
  const [only = -1, second] = varying;
  const sameLength = rows.every((row) => row.length === first.length);
  if (sameLength && second === undefined)
    return {
      command: [program, ...first].map((word, at) => (at === only + 1 ? '{item}' : escaped(word))).join(' '),
      parts: { matrix: { item: [...new Set(rows.map((row) => row[only] ?? ''))] } },
    };
  const commands = rows.map((row) => [program, ...row].map((word) => shellQuote(word)).join(' '));
  return { command: 'sh -c {command}', parts: { matrix: { command: [...new Set(commands)] } } };
}

function wordsOf(text: string, hints: string[]): string[] {
  try {
    return splitArguments(text);
  } catch (error) {
    if (!(error instanceof BadQuoting)) throw error;
    if (!hints.includes('arguments: they are quoted in a way that HTCondor refuses'))
      hints.push('arguments: they are quoted in a way that HTCondor refuses');
    return [];
  }
}

function envOf(batch: Batch, hints: string[]): Record<string, string> {
  const env: Record<string, string> = {};
  let words: string[] = [];
  try {
    words = splitEnvironment(valueOf(batch, 'environment') ?? '');
  } catch (error) {
    if (!(error instanceof BadQuoting)) throw error;
    hints.push('environment: it is quoted in a way that HTCondor refuses');
  }
  for (const word of words) {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (/TOKEN|SECRET|PASSWORD|API_?KEY/i.test(name))
      hints.push(`environment: ${name} looks like a secret, which belongs into [train.secrets]`);
    else if (/^(?!UPDRAFT_)[A-Za-z_]\w*$/.test(name)) env[name] = value.replaceAll(/[{}]/g, '$&$&');
  }
  return env;
}

function dataOf(url: string, index: number): DraftData {
  const name = path.posix.basename(url.replace(/[?#].*/, ''));
  const key = name
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 60);
  return {
    name: `${key === '' ? 'data' : key}-${index + 1}`,
    url,
    into: 'data',
    why: 'HTCondor puts it at the top',
    unpack: 'none',
  };
}

function imageOf(batch: Batch): string | undefined {
  const docker = valueOf(batch, 'docker_image');
  return (
    valueOf(batch, 'container_image') ??
    (docker === undefined ? undefined : `docker://${docker.replace(/^docker:\/\//, '')}`)
  );
}

function projectOf(batch: Batch): string | undefined {
  const name = attributeValue(batch, 'ProjectName')?.replaceAll('"', '') ?? valueOf(batch, 'project_name');
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) ? name : undefined;
}

function wholeOf(batch: Batch, command: string): number | undefined {
  const value = valueOf(batch, command) ?? '';
  return /^\d+$/.test(value) ? Number(value) : undefined;
}

function amountOf(batch: Batch, command: string, unit: 'k' | 'm'): string | undefined {
  const amount = parseQuantity(valueOf(batch, command) ?? '', unit);
  return amount === undefined ? undefined : formatQuantity(amount.bytes);
}

/** Commands and attributes without a key of their own. */
const leftOver = ({ job }: Batch): string[] => [
  ...Object.entries(job.commands)
    .filter(([name, value]) => !needless.test(name) && value.trim() !== '')
    .map(([name]) => `${name}: the job file has no key for it; [pool.submit] may take it`),
  ...Object.keys(job.attributes)
    .filter((name) => !/^ProjectName$/i.test(name))
    .map((name) => `+${name}: put it into [pool.submit] if your pool needs it`),
];
