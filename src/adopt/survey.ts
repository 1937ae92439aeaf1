import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../base/defined.ts';
import type { Env } from '../base/env.ts';
import { errorReason } from '../base/error-reason.ts';
import { Fault } from '../fault/fault.ts';
import {
  type SubmitFacts,
  type FileFact,
  isUrl,
  fileList,
  type PoolLimits,
  type PastUsage,
  type WrapperText,
} from './submit-facts.ts';
import { filesMatching, folderBytes, statOf } from './bounded-walk.ts';
import { parseSubmit } from './parse-submit.ts';
import type { Submission } from './submission.ts';

export interface SurveyOptions {
  /** Absolute path of the submit file; `condor_submit` is assumed to run in its folder. */
  file: string;
  env: Env;
  now: Date;
  limits: PoolLimits;
  version?: readonly [number, number, number];
  usage?: PastUsage;
}

/** Larger than any script or list written by hand; larger files are not read. */
const maxScriptBytes = 1 << 18;
const maxTextBytes = 4 << 20;
/** Files of input folders that are measured; the rest is not measured. */
const maxMeasured = 2000;
/** Max paths to stat: more would not change the findings. */
const maxNames = 5000;
/** Max folder entries to match against patterns. */
const maxMatched = 100_000;

/** Reads a submit file and stats every local file that it names. Runs nothing. */
export async function survey(options: SurveyOptions): Promise<SubmitFacts> {
  const { file, env, now, version, limits, usage } = options;
  const folder = path.dirname(file);
  const found = await stat(file).catch(() => undefined);
  // Reading a pipe would block, and reading a device may never end.
  if (found !== undefined && !found.isFile() && !found.isDirectory())
    throw unreadable(file, 'it is not a regular file');
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, errorReason(error), error);
  });
  if (text.length > maxTextBytes) throw unreadable(file, `it is larger than ${maxTextBytes >> 20} MiB`);
  const submission = parseSubmit(text, {
    file: path.basename(file),
    cwd: folder,
    env,
    now,
    include: (name) => readText(path.resolve(folder, name)),
    glob: (pattern, of) => filesMatching(folder, pattern, of, maxMatched),
    ...defined({ version }),
  });
  const files = statPaths(folder, pathsOf(submission));
  const wrapper = await wrapperOf(folder, submission);
  return {
    submission,
    files,
    limits,
    ...defined({ wrapper, usage }),
  };
}

const unreadable = (file: string, reason: string, cause?: unknown): Fault =>
  new Fault('file-invalid', `the submit file ${file} cannot be read: ${reason}`, {
    fix: 'name the file that you would pass to condor_submit',
    about: file,
    cause,
  });

/** Undefined for anything but a regular file of limited size: reading a pipe would block. */
function readText(file: string): string | undefined {
  try {
    const found = statOf(file);
    return found?.isFile() === true && found.size <= maxTextBytes ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

/** Every local path that some job names, as rules look it up, and whether its size matters. */
function pathsOf(submission: Submission): Map<string, boolean> {
  const paths = new Map<string, boolean>();
  for (const { jobs } of submission.queues)
    for (const { commands } of jobs) {
      const base = commands['initialdir'] ?? '.';
      const add = (name: string, isInput = false): void => {
        const full = path.posix.join(path.posix.isAbsolute(name) ? '/' : base, name);
        if (!isUrl(name)) paths.set(full, isInput || paths.get(full) === true);
      };
      paths.set(path.posix.normalize(base), false);
      if (commands['executable'] !== undefined)
        paths.set(path.posix.normalize(commands['executable']), false);
      for (const name of fileList(commands['transfer_input_files'])) add(name, true);
      if (commands['container_image'] !== undefined) add(commands['container_image'], true);
      for (const name of [commands['output'], commands['error'], commands['log']])
        if (name !== undefined && name !== '') add(path.posix.dirname(name));
      if (paths.size > maxNames) return paths;
    }
  return paths;
}

function statPaths(folder: string, paths: Map<string, boolean>): Map<string, FileFact> {
  const facts = new Map<string, FileFact>();
  const budget = { left: maxMeasured };
  for (const [name, isInput] of [...paths].slice(0, maxNames)) {
    // A machine ad's `$$()` is known only on the worker.
    if (name.includes('$$(')) continue;
    const full = path.resolve(folder, name);
    const found = statOf(full);
    if (found === undefined) facts.set(name, { kind: 'missing', bytes: 0 });
    else if (!found.isDirectory()) facts.set(name, { kind: 'file', bytes: found.size });
    else facts.set(name, { kind: 'folder', bytes: isInput ? folderBytes(full, budget) : 0 });
  }
  return facts;
}

/** The script of the first job, by the name the user wrote. */
async function wrapperOf(folder: string, submission: Submission): Promise<WrapperText | undefined> {
  const name = submission.queues[0]?.jobs[0]?.commands['executable'];
  if (name === undefined) return undefined;
  const file = path.resolve(folder, name);
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true || found.size > maxScriptBytes) return undefined;
  const text = await readFile(file, 'utf8');
  return text.includes('\0') ? undefined : { file: name, text };
}
