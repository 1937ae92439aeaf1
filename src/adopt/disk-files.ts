import { type Dirent, opendirSync, readFileSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { errorReason, tried } from '../base/error-reason.ts';
import { Fault } from '../fault/fault.ts';
import type { FileFact, ListedName, SubmitFiles } from './submit-files.ts';
import type { SubmitFacts } from './submit-facts.ts';
import { survey, type SurveyOptions } from './survey.ts';

/** Larger than any submit file or list written by hand. */
const maxTextBytes = 16 << 20;
/** Entries of one folder that a pattern is matched against. */
const maxEntries = 30_000;

/** The files on this machine, as `condor_submit` sees them from a folder. Each is read once. */
export function diskFiles(folder: string): SubmitFiles {
  const place = (name: string): string => path.resolve(folder, name);
  const texts = new Map<string, string | undefined>();
  return {
    read: (name) => {
      const file = place(name);
      if (!texts.has(file)) texts.set(file, textOf(file));
      return texts.get(file);
    },
    stat: (name) => factOf(statOf(place(name))),
    list: (name) => entriesOf(place(name)),
  };
}

/** Folders above the submit file in which its executable is looked for. */
const maxLevels = 6;

/**
 * Surveys a submit file on this machine. `condor_submit` is assumed to run in its folder, or in the nearest folder
 * above it from which its executable is found.
 */
export function surveyOnDisk(options: Omit<SurveyOptions, 'text' | 'files' | 'fitting'>): SubmitFacts {
  const { file } = options;
  const text = submitText(file);
  const own = path.dirname(file);
  const facts = survey({ ...options, text, files: diskFiles(own) });
  const fitting = folderAbove(own, facts);
  return fitting === undefined ? facts : survey({ ...options, text, files: diskFiles(fitting), fitting });
}

function folderAbove(own: string, { submission, files }: SubmitFacts): string | undefined {
  const name = submission.queues[0]?.jobs[0]?.commands['executable']?.trim() ?? '';
  if (path.isAbsolute(name) || files.get(path.posix.normalize(name))?.kind !== 'missing') return undefined;
  for (
    let [folder, level] = [path.dirname(own), 0];
    level < maxLevels;
    folder = path.dirname(folder), level++
  )
    if (statOf(path.join(folder, name))?.isFile() === true) return folder;
  return undefined;
}

function submitText(file: string): string {
  const found = statOf(file);
  // Reading a pipe would block, and reading a device may never end.
  if (found !== undefined && !found.isFile() && !found.isDirectory())
    throw unreadable(file, 'it is not a regular file');
  if (found !== undefined && found.size > maxTextBytes)
    throw unreadable(file, `it is larger than ${maxTextBytes >> 20} MiB`);
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, errorReason(error), error);
  }
}

const unreadable = (file: string, reason: string, cause?: unknown): Fault =>
  new Fault('file-invalid', `the submit file ${file} cannot be read: ${reason}`, {
    fix: 'name the file that you would pass to condor_submit',
    about: file,
    cause,
  });

/** Undefined where nothing is there, access is denied, or the name is not a valid path. */
const statOf = (file: string): Stats | undefined => tried(() => statSync(file));

function factOf(found: Stats | undefined): FileFact {
  if (found === undefined) return { kind: 'missing', bytes: 0 };
  if (found.isDirectory()) return { kind: 'folder', bytes: 0 };
  return { kind: 'file', bytes: found.size, isExecutable: (found.mode & 0o111) !== 0 };
}

/** Undefined for anything but a regular file of limited size: reading a pipe would block. */
function textOf(file: string): string | undefined {
  const found = statOf(file);
  if (found?.isFile() !== true || found.size > maxTextBytes) return undefined;
  return tried(() => readFileSync(file, 'utf8'));
}

/** Empty where it is not a folder or cannot be read, as a pattern then matches nothing. */
function entriesOf(folder: string): ListedName[] | undefined {
  const entries: ListedName[] = [];
  try {
    using open = opendirSync(folder, { bufferSize: 4096 });
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      if (entries.length >= maxEntries) return undefined;
      entries.push({ name: entry.name, isFolder: isFolder(folder, entry) });
    }
  } catch {
    return entries;
  }
  return entries;
}

const isFolder = (folder: string, entry: Dirent): boolean =>
  entry.isSymbolicLink()
    ? statOf(path.join(folder, entry.name))?.isDirectory() === true
    : entry.isDirectory();
