import { type Batch, evaluateNumber, markedName, type SubmittedJob, valueOf } from '@updraft/htcondor/submit';
import { counted } from '@updraft/base';
import { isSecretName, textWithoutSecrets } from '@updraft/base/secrets';
import { poolLineProblem } from '../../job/check-pool-submit.ts';
import type { Scalar } from '../../job/spec.ts';
import type { JobDraft } from '../init/draft-job.ts';
import { anyCluster } from './job-texts.ts';
import type { Notes } from './submitted-inputs.ts';

/** Commands that Updraft does not need: it writes them, or does what they are for. */
const doneByUpdraft =
  /^(log|output|error|input|should_transfer_files|when_to_transfer_output|max_retries|periodic_\w+|on_exit_\w+|success_exit_code|checkpoint_exit_code|notification|job_lease_duration|preserve_relative_paths|transfer_container|stream_\w+|ulog_execute_attrs|want_graceful_removal)$/;

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
export function timeOf(batch: Batch): number | undefined {
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
export function groupOf(first: Batch, others: readonly Batch[], notes: Notes): Batch[] {
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
      notes.open.push({ what: 'run.matrix', why: `the items of \`${queue.text}\` are unknown here` });
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
    open.push({ what: `FILL-IN-${name}`, why: `the submit file has no value for $(${name})` });
  if (text.includes('$UPDRAFT_RUN')) hints.push("$(Cluster): the run's name, $UPDRAFT_RUN, is in its place");
  const notes = JSON.parse(marked({ open, hints }).replaceAll(unknown, '$$($1)')) as Notes;
  return { ...(JSON.parse(text.replaceAll(unknown, 'FILL-IN-$1')) as JobDraft), ...notes };
}

/** A draft that asks for what it lacks, also for secrets, which it leaves out; the words of its command are clean already. */
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
  return draftToFillIn(isLeftOut ? { ...clean, open: [...clean.open, { what: '[removed]', why }] } : clean);
}
