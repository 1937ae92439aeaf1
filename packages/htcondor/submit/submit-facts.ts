import { type Found, type RuleResult, type SourceLine, defined, type Env, anyOf } from '@updraft/base';
import path from 'node:path';
import type { Assignment, Submission, SubmittedJob, SubmittedQueue } from './submission.ts';
import { type FileFact, filesFrom, type SubmitFiles } from './submit-files.ts';
import { parseSubmit } from './parse-submit.ts';
import type { GivenValue } from './submit-reader.ts';
import { macroReferences } from './expand-macros.ts';

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

export interface SurveyOptions {
  file: string;
  /** Where `condor_submit` runs; default: the submit file's folder, and then places name the file without it. */
  cwd?: string;
  text: string;
  files: SubmitFiles;
  /** The folder above the file's own that its paths fit: `condor_submit` runs there. */
  fitting?: string;
  env: Env;
  now: Date;
  limits: PoolLimits;
  version?: readonly [number, number, number];
  given?: readonly GivenValue[];
  cluster?: number;
  /** How many jobs of one queue statement are resolved. */
  maxJobs?: number;
}

/** Larger than any script written by hand; larger ones are not read. */
const maxScriptBytes = 1 << 18;
/** Max paths to stat: more would not change the findings. */
const maxNames = 5000;

/** Reads a submit file and looks up every local file that it names. Runs nothing. */
export function survey(options: SurveyOptions): SubmitFacts {
  const { file, cwd, text, files, fitting, env, now, version, limits, given, maxJobs, cluster } = options;
  const submission = parseSubmit(text, {
    file: cwd === undefined ? path.posix.basename(file) : file,
    cwd: cwd ?? fitting ?? path.posix.dirname(file),
    env,
    now,
    files,
    ...defined({ version, given, maxJobs, cluster }),
  });
  return {
    submission,
    files: factsOf(files, pathsOf(submission)),
    limits,
    ...defined({ wrapper: wrapperOf(files, submission), folder: fitting }),
  };
}

/** Folders above the submit file in which its executable is looked for. */
const maxLevels = 6;

/** As `survey`; `condor_submit` runs in the file's folder, or in the nearest above it that has the executable. */
export function surveyWhereItFits(options: Omit<SurveyOptions, 'fitting'>): SubmitFacts {
  const facts = survey(options);
  const name = facts.submission.queues[0]?.jobs[0]?.commands['executable']?.trim() ?? '';
  if (path.isAbsolute(name) || facts.files.get(path.posix.normalize(name))?.kind !== 'missing') return facts;
  const above = Array.from({ length: maxLevels }, (_, level) => `..${'/..'.repeat(level)}`);
  const folder = above.find((one) => options.files.stat(path.posix.join(one, name))?.kind === 'file');
  if (folder === undefined) return facts;
  const fitting = path.join(path.dirname(options.file), folder);
  return survey({ ...options, files: filesFrom(options.files, folder), fitting });
}

/** Every local path that some job names, as rules look it up; not those that the command line or a DAG completes. */
function pathsOf(submission: Submission): Set<string> {
  const paths = new Set<string>();
  const isOpen = opennessOf(submission);
  for (const { jobs, inForce } of submission.queues) {
    const raw = (command: string): string => inForce.get(command)?.value ?? '';
    for (const { commands } of jobs) {
      const known = (command: string): string | undefined =>
        isOpen(raw(command)) ? undefined : commands[command];
      const executable = known('executable');
      if (executable !== undefined) paths.add(path.posix.normalize(executable));
      if (isOpen(raw('initialdir'))) continue;
      const base = commands['initialdir'] ?? '.';
      const add = (name: string | undefined): void => {
        if (name !== undefined && name !== '' && !isUrl(name))
          paths.add(path.posix.join(path.posix.isAbsolute(name) ? '/' : base, name));
      };
      paths.add(path.posix.normalize(base));
      const inputs = fileList(commands['transfer_input_files']);
      const written = fileList(raw('transfer_input_files'));
      for (const [index, name] of inputs.entries())
        if (!isOpen(written.length === inputs.length ? (written[index] ?? '') : written.join())) add(name);
      for (const command of ['container_image', 'input', 'x509userproxy']) add(known(command));
      for (const name of [known('output'), known('error'), known('log')])
        if (name !== undefined && name !== '') add(path.posix.dirname(name));
      if (paths.size > maxNames) return paths;
    }
  }
  return paths;
}

function factsOf(files: SubmitFiles, names: ReadonlySet<string>): Map<string, FileFact> {
  const facts = new Map<string, FileFact>();
  for (const name of [...names].slice(0, maxNames)) {
    // A machine ad's `$$()` is known only on the worker; a path from `~` is wrong whether a folder `~` exists or not.
    const fact = name.includes('$$(') || name.startsWith('~/') ? undefined : files.stat(name);
    if (fact !== undefined) facts.set(name, fact);
  }
  return facts;
}

/** The script of the first job, by the name the user wrote. */
function wrapperOf(files: SubmitFiles, submission: Submission): WrapperText | undefined {
  const name = submission.queues[0]?.jobs[0]?.commands['executable'];
  if (name === undefined || (files.stat(name)?.bytes ?? 0) > maxScriptBytes) return undefined;
  const text = files.read(name);
  return text === undefined || text.includes('\0') ? undefined : { file: name, text };
}

/** Names that DAGMan defines or that HTCondor never reports as unused. */
const ofDag = /^(dag_status|failed_count|job|retry|dag_parent_names|node_name|dagmanjobid)$/i;
const automatic = new RegExp(
  `^(?:${anyOf(String.raw`
    cluster clusterid process procid jobid step row item itemindex node dollar arch opsys\w* islinux
    iswindows submit_file submit_time year month day condorversion spool item_?index
  `)})$`,
  'i',
);

export const isOfDag = (name: string): boolean => ofDag.test(name);

/** Macros that some value uses and nothing in the file defines: the command line or a DAG may. */
export function undefinedNames(submission: Submission, dag = false): { name: string; place: SourceLine }[] {
  const defined = new Set([
    ...submission.assignments.map(({ name }) => name.toLowerCase()),
    ...submission.queues.flatMap(({ variables }) => variables.map((name) => name.toLowerCase())),
  ]);
  return submission.assignments.flatMap(({ value, place }) =>
    [...value.matchAll(/(?<!\$)\$\(([\w.]+)\)/g)]
      .map(([, name = '']) => ({ name, place }))
      .filter(
        ({ name }) => !defined.has(name.toLowerCase()) && !automatic.test(name) && (dag || !isOfDag(name)),
      ),
  );
}

/** Environment variables that a raw value asks for without a default, and that are not set here. */
export const unsetIn = (raw: string, { unset }: Submission): string[] =>
  [...raw.matchAll(/(?<!\$)\$ENV\((\w+)\)/g)].flatMap(([, name = '']) => (unset.has(name) ? [name] : []));

/** Whether a raw value depends on a macro that nothing defines here, also through other macros. */
function opennessOf(submission: Submission): (raw: string) => boolean {
  const open = new Set(undefinedNames(submission).map(({ name }) => name.toLowerCase()));
  for (const { value } of submission.assignments)
    for (const name of macroReferences(value)) if (isOfDag(name)) open.add(name);
  for (const { name, value } of submission.assignments)
    if (unsetIn(value, submission).length > 0) open.add(name.toLowerCase());
  const isOpen = (raw: string): boolean =>
    macroReferences(raw).some((name) => open.has(name)) || unsetIn(raw, submission).length > 0;
  // Each round follows one more step of the chains of macros.
  for (let size = -1; open.size > size && open.size > 0;) {
    size = open.size;
    for (const { name, value } of submission.assignments) if (isOpen(value)) open.add(name.toLowerCase());
  }
  return isOpen;
}
