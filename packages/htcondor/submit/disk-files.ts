import { type Dirent, opendirSync, readFileSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { errorReason, tried } from '@updraft/base';
import { Fault } from '../fault.ts';
import type { FileFact, ListedName, SubmitFiles } from './submit-files.ts';
import { type SubmitFacts, surveyWhereItFits, type SurveyOptions } from './submit-facts.ts';
import { logicalLines } from './split-arguments.ts';

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

/** Surveys a submit file on this machine. */
export function surveyOnDisk(options: Omit<SurveyOptions, 'text' | 'files' | 'fitting'>): SubmitFacts {
  const text = submitText(options.file);
  return surveyWhereItFits({ ...options, text, files: diskFiles(path.dirname(options.file)) });
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

/**
 * Why `condor_submit` must not read this text, even with -dry-run: reading may run commands, depending on the
 * pool's configuration. Judged by the raw text, more strictly than HTCondor reads it; undefined when nothing in it can
 * make HTCondor run anything.
 */
export function whyNotRun(text: string): string | undefined {
  if (text.includes('\0')) return 'the file contains NUL bytes';
  if (/\\[ \t\r]*\n\s*#/.test(text))
    return 'it has a comment inside a continued line, part of which HTCondor keeps';
  const logical = logicalLines(text).map((line) => line.text);
  const statements = [...text.split(/[\r\n]/), ...logical].filter(
    (line) => !line.trimStart().startsWith('#'),
  );
  for (const line of statements) {
    const [, word] = /^[^a-z]*(use|if|elif|else|endif)\b/i.exec(line) ?? /(include)/i.exec(line) ?? [];
    if (word !== undefined)
      return `it has \`${word.toLowerCase()}\`: it can pull in the pool's configuration or run a command`;
    if (/oauth_|use_scitokens/i.test(line)) return 'it asks for credentials, which HTCondor would fetch';
  }
  const values = assignedValues(logical);
  const isCommand = statements.some((line) =>
    mayBeCommand(/^[^a-z]*queue\b(.*)$/is.exec(line)?.[1] ?? '', values),
  );
  return isCommand ? 'a queue statement runs a command, or may through a macro' : undefined;
}

/** Whether a queue statement has a pipe, or macros that may expand to one. */
function mayBeCommand(queue: string, values: Map<string, string>): boolean {
  const plain = queue.replaceAll(
    /\$\(([\w.]+)\)/g,
    (_, name: string) => values.get(name.toLowerCase()) ?? '$',
  );
  return /[|$]/.test(plain);
}

/** All values assigned to a name, joined; multi-line values stay whole. */
function assignedValues(lines: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of lines) {
    const [, written = '', sign = '', value = ''] = /^([\w.]+)\s*(\W{0,3}?)=(.*)$/s.exec(line) ?? [];
    const name = written.toLowerCase();
    if (name !== '') values.set(name, (values.get(name) ?? '') + (sign.includes('@') ? '$' : value));
  }
  return values;
}
