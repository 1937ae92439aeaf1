import { globSync, readFileSync, statSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
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
import { parseSubmit } from './parse-submit.ts';
import type { Submission } from './submission.ts';

export interface SurveyOptions {
  /** Absolute path of the submit description; `condor_submit` is thought to run in its folder. */
  file: string;
  env: Env;
  now: Date;
  limits: PoolLimits;
  version?: readonly [number, number, number];
  usage?: PastUsage;
}

/** Larger than any script that people write by hand; what is larger is not read as one. */
const mostScriptBytes = 1 << 20;
/** Files of one input folder that are counted; the rest of a larger one stays unknown. */
const mostFiles = 20_000;

/** Reads a submit description and looks at every file of this machine that it names. Runs nothing. */
export async function survey(options: SurveyOptions): Promise<SubmitFacts> {
  const { file, env, now, version, limits, usage } = options;
  const folder = path.dirname(file);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('file-invalid', `the submit description ${file} cannot be read: ${errorReason(error)}`, {
      fix: 'name the file that you would give to condor_submit',
      about: file,
      cause: error,
    });
  });
  const submission = parseSubmit(text, {
    file: path.basename(file),
    cwd: folder,
    env,
    now,
    include: (name) => readText(path.resolve(folder, name)),
    glob: (pattern, of) => matching(folder, pattern, of),
    ...defined({ version }),
  });
  const files = await lookAt(folder, pathsOf(submission));
  const wrapper = await wrapperOf(folder, submission);
  return {
    submission,
    files,
    limits,
    ...defined({ wrapper, usage }),
  };
}

/** Undefined for what is no plain file: a pipe would keep us waiting. */
function readText(file: string): string | undefined {
  try {
    return statSync(file).isFile() ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

function matching(folder: string, pattern: string, of: 'files' | 'dirs' | 'any'): string[] {
  const found = globSync(pattern, { cwd: folder, withFileTypes: true });
  return found
    .filter((entry) => of === 'any' || entry.isDirectory() === (of === 'dirs'))
    .map((entry) => {
      const full = path.join(entry.parentPath, entry.name);
      const name = path.isAbsolute(pattern) ? full : path.relative(folder, full);
      return entry.isDirectory() ? `${name}/` : name;
    })
    .sort();
}

/** Every local path that some job names, as rules look them up. */
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
    }
  return paths;
}

async function lookAt(folder: string, paths: Set<string>): Promise<Map<string, FileFact>> {
  const facts = new Map<string, FileFact>();
  // A machine ad's `$$()` is known only at the worker.
  for (const name of paths)
    if (!name.includes('$$(')) facts.set(name, await factOf(path.resolve(folder, name)));
  return facts;
}

async function factOf(file: string): Promise<FileFact> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return { kind: 'missing', bytes: 0 };
  if (!found.isDirectory()) return { kind: 'file', bytes: found.size };
  const names = await readdir(file, { recursive: true }).catch(() => []);
  let bytes = 0;
  for (const name of names.slice(0, mostFiles)) {
    const inner = await stat(path.join(file, name)).catch(() => undefined);
    if (inner?.isFile() === true) bytes += inner.size;
  }
  return { kind: 'folder', bytes };
}

/** The script of the first job; its name is the one the user wrote. */
async function wrapperOf(folder: string, submission: Submission): Promise<WrapperText | undefined> {
  const name = submission.queues[0]?.jobs[0]?.commands['executable'];
  if (name === undefined) return undefined;
  const file = path.resolve(folder, name);
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true || found.size > mostScriptBytes) return undefined;
  const text = await readFile(file, 'utf8');
  return text.includes('\0') ? undefined : { file: name, text };
}
