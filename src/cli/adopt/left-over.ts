import { markedName } from '../../adopt/resolve-jobs.ts';
import { type Batch, valueOf } from '../../adopt/submit-facts.ts';
import type { SubmittedJob } from '../../adopt/submission.ts';
import { defined } from '../../base/defined.ts';
import { textWithoutSecrets, wordsWithoutSecrets } from '../../base/file-without-secrets.ts';
import { poolLineProblem } from '../../job/check-pool-submit.ts';
import type { Scalar } from '../../job/spec.ts';
import type { JobDraft } from '../init/draft-job.ts';
import type { Notes } from './submitted-inputs.ts';

/** Commands that Updraft does not need: it writes them, or does what they are for. */
const doneByUpdraft =
  /^(log|output|error|should_transfer_files|when_to_transfer_output|transfer_output_remaps|max_retries|periodic_\w+|on_exit_\w+|retry_until|success_exit_code|checkpoint_exit_code|notification|max_idle|max_materialize|leave_in_queue|job_lease_duration|preserve_relative_paths|transfer_container|stream_\w+|ulog_execute_attrs|want_graceful_removal)$/;

/** Those of which a value asks for something else than Updraft does. */
const otherwise: Record<string, [value: RegExp, instead: string]> = {
  when_to_transfer_output: [
    /^on_exit_or_evict$/i,
    'only what is in `checkpoint` survives an eviction; outputs return at the end',
  ],
  stream_output: [/^true$/i, '`updraft logs -f` shows the output of a running job'],
  stream_error: [/^true$/i, '`updraft logs -f --err` shows the output of a running job'],
  checkpoint_exit_code: [/^(?!85$)/, 'a training that stops after a checkpoint must exit with 85'],
  notification: [/^(?!never$)/i, '[run] on_end takes a command that sends a mail'],
};

/** What a job file has no key for. */
export interface LeftOver {
  /** Lines for `[pool.submit]`. */
  lines: Record<string, Scalar>;
  /** Commands that Updraft does not need. */
  needless: string[];
  /** What is lost, by name, and why. */
  lost: string[];
}

/** Sorts every command and attribute of a job that the job file does not say in a key of its own. */
export function leftOver({ job, queue }: Batch, isCarried: (command: string) => boolean): LeftOver {
  const left: LeftOver = { lines: {}, needless: [], lost: [] };
  const { commands, attributes } = queue.template ?? job;
  for (const name of Object.keys(commands).sort()) {
    const value = valueOf({ job, queue }, name);
    if (value === undefined || isCarried(name)) continue;
    const [other, instead] = otherwise[name] ?? [];
    if (other?.test(value) === true)
      left.lost.push(`${textWithoutSecrets(`${name} = ${value}`)}: ${instead ?? ''}`);
    else if (doneByUpdraft.test(name)) left.needless.push(name);
    else addLine(left, name, commands[name] ?? '', value);
  }
  for (const name of Object.keys(attributes).filter((one) => !isCarried(`+${one}`)))
    addLine(left, `+${name}`, attributes[name] ?? '', literalOf(job, name));
  return left;
}

/** The value of an attribute, if it is a plain string, number or truth value. */
function literalOf({ attributes }: SubmittedJob, name: string): Scalar | undefined {
  const text = attributes[name]?.trim() ?? '';
  if (/^(true|false)$/i.test(text)) return /^true$/i.test(text);
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return /^"([^"\\]*)"$/.exec(text)?.[1];
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
        : poolLineProblem(name, value);
  if (problem !== undefined || value === undefined) left.lost.push(`${name}: ${problem ?? ''}`);
  else left.lines[name] = value;
}

/** The words of a command without secrets, and a note about those. */
export function commandWithoutSecrets(words: readonly string[], notes: Notes): string[] {
  const kept = wordsWithoutSecrets(words);
  if (kept.some((word, index) => word !== words[index])) noteSecret('command', notes);
  return kept;
}

function noteSecret(what: string, { open }: Notes): void {
  const why =
    'a secret was left out at [removed]: keep it in a file, name that in [train.secrets], and let the training read the variable (`updraft docs secrets`)';
  if (!open.some((one) => one.what === what && one.why === why)) open.push({ what, why });
}

/** Values whose names say that they are secrets, or that look like some. */
export const matrixWithoutSecrets = (
  matrix: Record<string, string[]>,
  notes: Notes,
): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(matrix).map(([name, values]) => {
      const isSecret = (value: string): boolean => {
        const line = `${name} = ${value}`;
        return textWithoutSecrets(line) !== line;
      };
      if (!values.some(isSecret)) return [name, values];
      noteSecret(`run.matrix.${name}`, notes);
      return [name, ['[removed]', ...values.filter((value) => !isSecret(value))]];
    }),
  );

/** A draft whose command and matrix are clean already, without secrets in names of files, the image and conditions. */
export function draftWithoutSecrets(draft: JobDraft, notes: Notes): JobDraft {
  const clean = (what: string, text: string): string => {
    const kept = textWithoutSecrets(text);
    if (kept !== text) noteSecret(what, notes);
    return kept;
  };
  const cleanIf = (what: string, text: string | undefined): string | undefined =>
    text === undefined ? undefined : clean(what, text);
  const { files, outputs, checkpoint, submitted } = draft;
  return {
    ...draft,
    files: files.map((file) => clean('files', file)),
    outputs: outputs.map((file) => clean('outputs', file)),
    ...defined({ checkpoint: cleanIf('checkpoint', checkpoint) }),
    ...(submitted === undefined
      ? {}
      : {
          submitted: {
            ...submitted,
            ...defined({
              image: cleanIf('image', submitted.image),
              requirements: cleanIf('requirements', submitted.requirements),
            }),
          },
        }),
  };
}
