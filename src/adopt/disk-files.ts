import { type Dirent, opendirSync, readFileSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { errorReason } from '../base/error-reason.ts';
import { Fault } from '../fault/fault.ts';
import type { FileFact, ListedName, SubmitFiles } from './submit-files.ts';
import type { SubmitFacts } from './submit-facts.ts';
import { survey, type SurveyOptions } from './survey.ts';

/** Larger than any submit file or list written by hand. */
const maxTextBytes = 16 << 20;
/** Entries of one folder that a pattern is matched against. */
const maxEntries = 100_000;

/** The files on this machine, as `condor_submit` sees them from a folder. */
export function diskFiles(folder: string): SubmitFiles {
  const place = (name: string): string => path.resolve(folder, name);
  return {
    read: (name) => textOf(place(name)),
    stat: (name) => factOf(statOf(place(name))),
    list: (name) => entriesOf(place(name)),
  };
}

/** Surveys a submit file on this machine; `condor_submit` is assumed to run in its folder. */
export function surveyOnDisk(options: Omit<SurveyOptions, 'text' | 'files'>): SubmitFacts {
  const { file } = options;
  return survey({ ...options, text: submitText(file), files: diskFiles(path.dirname(file)) });
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
function statOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

function factOf(found: Stats | undefined): FileFact {
  if (found === undefined) return { kind: 'missing', bytes: 0 };
  if (found.isDirectory()) return { kind: 'folder', bytes: 0 };
  return { kind: 'file', bytes: found.size, isExecutable: (found.mode & 0o111) !== 0 };
}

/** Undefined for anything but a regular file of limited size: reading a pipe would block. */
function textOf(file: string): string | undefined {
  const found = statOf(file);
  if (found?.isFile() !== true || found.size > maxTextBytes) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
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
