import { markedName } from '../../adopt/resolve-jobs.ts';
import { type Batch, valueOf } from '../../adopt/submit-facts.ts';
import type { SubmittedJob } from '../../adopt/submission.ts';
import { isSecretName, textWithoutSecrets } from '../../base/file-without-secrets.ts';
import { poolLineProblem } from '../../job/check-pool-submit.ts';
import type { Scalar } from '../../job/spec.ts';
import type { JobDraft } from '../init/draft-job.ts';

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

/** A draft without secrets, which says how to give them; the words of its command are clean already. */
export function draftWithoutSecrets(draft: JobDraft): JobDraft {
  const clean = JSON.parse(JSON.stringify(draft), (key, value: unknown) =>
    typeof value === 'string'
      ? textWithoutSecrets(value)
      : Array.isArray(value) && isSecretName(key)
        ? ['[removed]']
        : value,
  ) as JobDraft;
  const why =
    'a secret was here: keep it in a file, name that in [train.secrets], and let the training read the variable (`updraft docs secrets`)';
  const isLeftOut = JSON.stringify({ ...clean, hints: [], open: [] }).includes('[removed]');
  return isLeftOut ? { ...clean, open: [...clean.open, { what: '[removed]', why }] } : clean;
}
