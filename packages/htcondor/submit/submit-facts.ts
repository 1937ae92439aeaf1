import type { Found, RuleResult, SourceLine } from '@updraft/base';
import type { Assignment, Submission, SubmittedJob, SubmittedQueue } from './submission.ts';
import type { FileFact } from './submit-files.ts';

/** What earlier attempts used, from an event log. */
export interface PastUsage {
  /** The log it comes from. */
  log: string;
  memoryMegabytes?: number;
  diskKilobytes?: number;
}

/** The shell script that is the job's executable. */
export interface WrapperText {
  file: string;
  text: string;
}

/** Everything the rules use, gathered beforehand so that rules are pure functions. */
export interface SubmitFacts {
  submission: Submission;
  /** By the path as the submit file has it, relative to the submit file's folder; unknown ones are absent. */
  files: ReadonlyMap<string, FileFact>;
  /** Sizes of objects by their URL, where their servers were asked. */
  objectBytes?: ReadonlyMap<string, number>;
  wrapper?: WrapperText;
  /** Where `condor_submit` must run for the paths to fit, if not in the submit file's folder. */
  folder?: string;
  limits: PoolLimits;
  usage?: PastUsage;
}

/** A queue statement with its first job: what most rules check. */
export interface Batch {
  queue: SubmittedQueue;
  job: SubmittedJob;
}

export const batches = ({ submission }: SubmitFacts): Batch[] =>
  submission.queues.flatMap((queue) => (queue.jobs[0] === undefined ? [] : [{ queue, job: queue.jobs[0] }]));

/** Where a command or attribute in force was set; the queue statement where it was not. */
export function whereSet({ queue }: Batch, ...names: string[]): SourceLine {
  for (const name of names) {
    const found = assignmentOf(queue, name);
    if (found !== undefined) return found.place;
  }
  return queue.place;
}

export const assignmentOf = (queue: SubmittedQueue, name: string): Assignment | undefined =>
  queue.inForce.get(name.toLowerCase());

/** A command's value; undefined when unset or empty. */
export function valueOf({ job }: Batch, command: string): string | undefined {
  const value = job.commands[command]?.trim();
  return value === undefined || value === '' ? undefined : value;
}

/** A text without the quotes around it. */
export const unquoted = (text: string): string => text.replace(/^(["'])(.*)\1$/s, '$2');

/** The value of an attribute set by `+Name` or `MY.Name`, in any case. */
export function attributeValue({ job }: Batch, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(job.attributes).find(([known]) => known.toLowerCase() === wanted)?.[1];
}

/** Whether the file switches transfer off. */
export const refusesTransfer = (batch: Batch): boolean =>
  /^(no|false|never)$/i.test(valueOf(batch, 'should_transfer_files') ?? '');

/** Whether no file is transferred: it is switched off, or the job runs on the access point itself. */
export const transfersNothing = (batch: Batch): boolean =>
  refusesTransfer(batch) || /^(local|scheduler)$/i.test(valueOf(batch, 'universe') ?? '');

/** A comma-separated list of files. */
export const fileList = (value: string | undefined): string[] =>
  (value ?? '')
    .replace(/^"(.*)"$/s, '$1')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

export const isUrl = (name: string): boolean => /^[A-Za-z][\w.+-]*:\/\//.test(name);

/** A rule's check that runs on each queue statement. */
export const perBatch =
  (check: (batch: Batch, facts: SubmitFacts) => RuleResult) =>
  (facts: SubmitFacts): Found[] =>
    batches(facts).flatMap((batch) => check(batch, facts) ?? []);

/** The pool's limits and requirements that a submit file can break. */
export interface PoolLimits {
  /** As its users call it. */
  title: string;
  /** Input that the access point itself may send with one job; more is held with code 32. */
  inputBytes: number;
  /** Above this, the pool asks users to use its data federation instead. */
  adviseBytes: number;
  wantsProject: boolean;
  /** Its workers surely do not have the folders of the access point. */
  sharesNoFolder?: boolean;
  /** Values of `+JobDurationCategory`; empty where the pool has none. */
  durationCategories: string[];
  /** Attributes that jobs with a GPU must have. */
  gpuAttributes: Readonly<Record<string, string>>;
  /** Commands that pools have added, in lower case, and the title of the pool. */
  ofPools?: Readonly<Record<string, string>>;
  /** Attributes that pools with a profile ask for. */
  attributesOfPools?: readonly string[];
  /** The attribute for how long a job with a GPU may run, and its values. */
  gpuLengths?: { attribute: string; names: readonly string[] };
  /** An attribute that gives jobs with checkpoints more machines. */
  resumable?: string;
  /** Submit commands that the pool adds to HTCondor's. */
  commands: readonly string[];
}

const factors: Record<string, number> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Reads an amount as HTCondor does; what follows a comma is for later attempts. */
export function parseQuantity(
  text: string,
  plainUnit: 'k' | 'm',
): { bytes: number; hasUnit: boolean } | undefined {
  const match = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgt])b?)?\s*(?:,|$)/i.exec(text);
  if (match === null) return undefined;
  const unit = match[2]?.toLowerCase();
  return { bytes: Number(match[1]) * (factors[unit ?? plainUnit] ?? 1), hasUnit: unit !== undefined };
}

/** `1.5 GB` in HTCondor's units, where a GB is 1024 MB. */
export function formatQuantity(bytes: number): string {
  const [name, factor] = bytes >= 2 ** 30 ? (['GB', 2 ** 30] as const) : (['MB', 2 ** 20] as const);
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KB` : `${Number((bytes / factor).toFixed(1))} ${name}`;
}

/** The image that a job runs in, whichever way its submit file says so. */
export function submittedImage(batch: Batch): string | undefined {
  const docker = valueOf(batch, 'docker_image');
  return (
    valueOf(batch, 'container_image') ??
    /^"([^"]+)"$/.exec(attributeValue(batch, 'SingularityImage') ?? '')?.[1] ??
    (docker === undefined ? undefined : `docker://${unquoted(docker).replace(/^docker:\/\//, '')}`)
  );
}
