import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import { findJobFile } from './find-job-file.ts';
import { isInside } from './inside.ts';
import { FileProblem, listFiles } from './list-files.ts';
import { makePlan, type Plan, type PlannedFile } from './plan.ts';
import { checkSpec } from './read-spec.ts';
import { resolveData } from './resolve-data.ts';
import { problemAt, type KeyPath, type SourceFile, type SpecProblem } from './source-file.ts';
import type { Spec } from './spec.ts';
import { SpecFault } from './spec-fault.ts';

export interface LoadOptions {
  /** Paths are taken from here, and shown relative to it; by default the process's own folder. */
  cwd?: string;
  /** What `~` stands for in `token_file`. */
  home?: string | undefined;
}

/** Reads a job file (or the one of a folder) and all it names; throws a `Fault` that says everything wrong. */
export async function loadPlan(folderOrFile: string, options: LoadOptions = {}): Promise<Plan> {
  const cwd = path.resolve(options.cwd ?? '.');
  const file = await findJobFile(path.resolve(cwd, folderOrFile));
  const folder = path.dirname(file);
  const reading = checkSpec(await readText(file), shownPath(cwd, file));
  if ('problems' in reading) throw new SpecFault(reading.problems);
  const { spec, source } = reading;
  const problems: SpecProblem[] = [];
  const files = await collectFiles(spec, source, folder, problems);
  const data = await Promise.all(
    spec.data.map((one) => resolveData(one, source, { folder, home: options.home }, problems)),
  );
  if (problems.length > 0) throw new SpecFault(problems);
  return makePlan({ spec, file, folder, files, data });
}

/** As the user would type it: relative where that is shorter. */
function shownPath(cwd: string, file: string): string {
  const relative = path.relative(cwd, file);
  return relative.startsWith('..') ? file : relative;
}

async function readText(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    const reason = error instanceof TypeError ? 'it is not UTF-8 text' : (error as Error).message;
    throw new Fault('file-invalid', `${file}: cannot be read: ${reason}`, { about: file, cause: error });
  }
}

async function collectFiles(
  spec: Spec,
  source: SourceFile,
  folder: string,
  problems: SpecProblem[],
): Promise<PlannedFile[]> {
  const entries: [KeyPath, string][] = spec.train.files.map((entry, index) => [
    ['train', 'files', index],
    entry,
  ]);
  for (const { name, manifest } of spec.data)
    if (manifest !== undefined && isInside(manifest) && !manifest.includes('://'))
      entries.push([['data', name, 'manifest'], manifest]);
  const found = new Map<string, PlannedFile>();
  for (const [at, entry] of entries)
    try {
      for (const one of await listFiles(folder, entry)) found.set(one.path, one);
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      problems.push(problemAt(source, at, error.message));
    }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
