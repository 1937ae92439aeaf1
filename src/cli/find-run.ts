import { open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { firstFew, printable, shellQuote } from '@updraft/base';
import { type Fault, usageFault } from '@updraft/account/fault';
import { runFiles, runsFolder } from '@updraft/account/run-folder';
import { statIfExists } from '../job/list-files.ts';
import { isRehearsal } from '../run/run-states.ts';
import type { Cli } from './cli.ts';
import { askYesNo } from './text/phrases.ts';
import { upwards } from './upwards.ts';

/** A run's folder, and how a command line names it. */
export interface FoundRun {
  folder: string;
  /** Quoted for a shell. */
  argument: string;
  /** Nobody named it: it was found in a folder above. */
  isAbove?: true;
}

/**
 * The run a user means: a folder, a folder's name under `runs/`, a run's id or the start of it, or a run's name (the
 * latest of that name); undefined, the latest run that is no rehearsal. Searches for `runs/` here and in the folders
 * above; if that finds a run that nobody named, says so, or, before a command that changes it, asks.
 */
export async function findRun(
  cli: Pick<Cli, 'cwd' | 'err' | 'ask'>,
  word: string | undefined,
  changes?: { command: string; jobs: readonly string[] },
): Promise<FoundRun> {
  const { cwd } = cli;
  if (word !== undefined) {
    const folder = path.resolve(cwd, word);
    if (await isRun(folder)) return { folder, argument: shellQuote(word) };
  }
  const around = word === undefined ? await runAround(cwd) : undefined;
  const folder = around ?? (await chooseRun(await runsAbove(cwd), word, cwd));
  const found = { folder, argument: shellQuote(path.basename(folder)) };
  const home = path.dirname(path.dirname(folder));
  if (word !== undefined || around !== undefined || home === path.resolve(cwd)) return found;
  const which = `this folder has no run; the latest one above it is ${printable(path.basename(folder))} in ${home}`;
  if (changes === undefined) cli.err(`${which}\n`);
  else if ((await askYesNo(cli, `${which}. Is that the one to ${changes.command}?`)) !== true)
    throw usageFault(
      which,
      `name it: updraft ${[changes.command, found.argument, ...changes.jobs].join(' ')}`,
      cwd,
    );
  return { ...found, isAbove: true };
}

/** The run whose folder contains the working directory. */
async function runAround(cwd: string): Promise<string | undefined> {
  for (const folder of upwards(cwd)) if (await isRun(folder)) return folder;
  return undefined;
}

/** The runs of the nearest `runs/` that has any, the latest first. */
async function runsAbove(cwd: string): Promise<string[]> {
  for (const above of upwards(cwd)) {
    const parent = path.join(above, runsFolder);
    const names = await readdir(parent).catch(() => []);
    // Names that begin with a dot are drafts.
    const runs = names.filter((name) => !name.startsWith('.')).map((name) => path.join(parent, name));
    const found = (await Promise.all(runs.map(whenCreated))).filter((run) => run !== undefined);
    found.sort((a, b) => b.created.localeCompare(a.created) || a.folder.localeCompare(b.folder));
    if (found.length > 0) return found.map(({ folder }) => folder);
  }
  return [];
}

async function chooseRun(runs: string[], word: string | undefined, cwd: string): Promise<string> {
  const [latest] = runs;
  if (latest === undefined) throw noRuns(cwd, word);
  if (word === undefined) return (await latestTraining(runs)) ?? latest;
  const names = new Map(runs.map((folder) => [path.basename(folder), folder]));
  const exact = names.get(word) ?? runs.find((folder) => nameOf(folder) === word || idOf(folder) === word);
  if (exact !== undefined) return exact;
  const starting = runs.filter(
    (folder) => path.basename(folder).startsWith(word) || idOf(folder).startsWith(word),
  );
  const [only] = starting;
  if (only !== undefined && starting.length === 1) return only;
  const known = starting.length > 1 ? starting : runs;
  const shown = known.map((folder) => printable(path.basename(folder)));
  const what = starting.length > 1 ? 'several runs begin with' : 'no run';
  throw usageFault(`${what} "${printable(word)}"`, `name one of them: ${firstFew(shown, 8)}`, word);
}

/** A rehearsal is the latest run only where there is no other. */
async function latestTraining(runs: readonly string[]): Promise<string | undefined> {
  for (const folder of runs) if (!(await isRehearsal(folder))) return folder;
  return undefined;
}

/** The nearest `runs/` with runs in it, here or above. */
export async function findRunsFolder({ cwd, err }: Pick<Cli, 'cwd' | 'err'>): Promise<string> {
  const [latest] = await runsAbove(cwd);
  if (latest === undefined) throw noRuns(cwd, undefined);
  const folder = path.dirname(latest);
  if (path.dirname(folder) !== path.resolve(cwd))
    err(`this folder has no run; those of ${folder} are meant\n`);
  return folder;
}

// Folders are called `<name>-<id>`; a name may contain hyphens, an id may not.
const idOf = (folder: string): string => path.basename(folder).split('-').at(-1) ?? '';
const nameOf = (folder: string): string => path.basename(folder).split('-').slice(0, -1).join('-');

function noRuns(cwd: string, word: string | undefined): Fault {
  const what = word === undefined ? 'no run' : `no run "${printable(word)}"`;
  return usageFault(
    `${what}: there is no ${runsFolder}/ folder with runs in ${cwd} or above it`,
    'start one with `updraft run`, or change to the folder of your updraft.toml',
    cwd,
  );
}

export async function isRun(folder: string): Promise<boolean> {
  return (await statIfExists(path.join(folder, runFiles.journal)))?.isFile() === true;
}

/** By the journal's first entry, which a copy of the folder keeps; by the file's date if it is garbled. */
async function whenCreated(folder: string): Promise<{ folder: string; created: string } | undefined> {
  const file = await open(path.join(folder, runFiles.journal), 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(256), 0, 256, 0);
    const written = /"t":"([^"]+)"/.exec(buffer.toString('utf8', 0, bytesRead))?.[1];
    return { folder, created: written ?? (await file.stat()).mtime.toISOString() };
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/** What an argument names: files, pipes and devices are read; a folder may be a run's. */
export async function pathKind(file: string): Promise<'file' | 'folder' | undefined> {
  const found = await statIfExists(file);
  return found && (found.isDirectory() ? 'folder' : 'file');
}

/** The arguments of a command that takes a run and its jobs. A number is a job: no run has a number as its name. */
export function runAndJobs(words: readonly (string | undefined)[]): {
  run: string | undefined;
  jobs: string[];
} {
  const [first, ...more] = words.filter((word) => word !== undefined);
  if (first === undefined) return { run: undefined, jobs: [] };
  return /^\d+$/.test(first) ? { run: undefined, jobs: [first, ...more] } : { run: first, jobs: more };
}
