import path from 'node:path';
import { defined, type Env } from '@updraft/base';
import {
  type SubmitFacts,
  isUrl,
  fileList,
  type PoolLimits,
  type PastUsage,
  type WrapperText,
} from './submit-facts.ts';
import { parseSubmit } from './parse-submit.ts';
import type { Submission } from './submission.ts';
import { type FileFact, filesFrom, type SubmitFiles } from './submit-files.ts';
import type { GivenValue } from './submit-reader.ts';
import { opennessOf } from './undefined-names.ts';

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
  usage?: PastUsage;
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
  const { file, cwd, text, files, fitting, env, now, version, limits, usage, given, maxJobs, cluster } =
    options;
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
    ...defined({ wrapper: wrapperOf(files, submission), usage, folder: fitting }),
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
