import path from 'node:path';
import { defined } from '../base/defined.ts';
import type { Env } from '../base/env.ts';
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
import type { FileFact, SubmitFiles } from './submit-files.ts';
import type { GivenValue } from './submit-reader.ts';

export interface SurveyOptions {
  file: string;
  /** Where `condor_submit` runs; default: the submit file's folder, and then places name the file without it. */
  cwd?: string;
  text: string;
  files: SubmitFiles;
  env: Env;
  now: Date;
  limits: PoolLimits;
  version?: readonly [number, number, number];
  usage?: PastUsage;
  given?: readonly GivenValue[];
}

/** Larger than any script written by hand; larger ones are not read. */
const maxScriptBytes = 1 << 18;
/** Max paths to stat: more would not change the findings. */
const maxNames = 5000;

/** Reads a submit file and looks up every local file that it names. Runs nothing. */
export function survey(options: SurveyOptions): SubmitFacts {
  const { file, cwd, text, files, env, now, version, limits, usage, given } = options;
  const submission = parseSubmit(text, {
    file: cwd === undefined ? path.posix.basename(file) : file,
    cwd: cwd ?? path.posix.dirname(file),
    env,
    now,
    files,
    ...defined({ version, given }),
  });
  return {
    submission,
    files: factsOf(files, pathsOf(submission)),
    limits,
    ...defined({ wrapper: wrapperOf(files, submission), usage }),
  };
}

/** Every local path that some job names, as rules look it up. */
function pathsOf(submission: Submission): Set<string> {
  const paths = new Set<string>();
  for (const { jobs } of submission.queues)
    for (const { commands } of jobs) {
      const base = commands['initialdir'] ?? '.';
      const add = (name: string): void => {
        if (!isUrl(name)) paths.add(path.posix.join(path.posix.isAbsolute(name) ? '/' : base, name));
      };
      paths.add(path.posix.normalize(base));
      if (commands['executable'] !== undefined) paths.add(path.posix.normalize(commands['executable']));
      for (const name of fileList(commands['transfer_input_files'])) add(name);
      if (commands['container_image'] !== undefined) add(commands['container_image']);
      for (const name of [commands['output'], commands['error'], commands['log']])
        if (name !== undefined && name !== '') add(path.posix.dirname(name));
      if (paths.size > maxNames) return paths;
    }
  return paths;
}

function factsOf(files: SubmitFiles, names: ReadonlySet<string>): Map<string, FileFact> {
  const facts = new Map<string, FileFact>();
  for (const name of [...names].slice(0, maxNames)) {
    // A machine ad's `$$()` is known only on the worker.
    const fact = name.includes('$$(') ? undefined : files.stat(name);
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
