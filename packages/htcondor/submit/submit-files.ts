import { anyOf } from '@updraft/base';
import { posix } from 'node:path';

/** What is at a path on the access point. */
export interface FileFact {
  kind: 'file' | 'folder' | 'missing';
  /** Of a file; 0 for a folder, since nothing below it is looked at. */
  bytes: number;
  /** Undefined where it is unknown. */
  isExecutable?: boolean;
}

/** One entry of a folder. */
export interface ListedName {
  name: string;
  isFolder: boolean;
}

/**
 * The files that a submit file can name, by the names it uses: absolute, or relative to the folder where
 * `condor_submit` runs. Nothing is walked: only what the submit file names is asked for.
 */
export interface SubmitFiles {
  /** The text of a regular file; undefined where it cannot be read or is too large. */
  read(name: string): string | undefined;
  /** Undefined where it is unknown whether there is such a file. */
  stat(name: string): FileFact | undefined;
  /** A folder's own entries; undefined where they are unknown or too many. */
  list(folder: string): readonly ListedName[] | undefined;
}

/** The files as they are named from another folder. */
export function filesFrom(files: SubmitFiles, folder: string): SubmitFiles {
  const place = (name: string): string => (posix.isAbsolute(name) ? name : posix.join(folder, name));
  return {
    read: (name) => files.read(place(name)),
    stat: (name) => files.stat(place(name)),
    list: (name) => files.list(place(name)),
  };
}

/** Names of programs, documents and data: whatever they quote, they are neither submit file nor DAG. */
const otherNames = new RegExp(
  String.raw`\.(?:${anyOf(`
    [ch] cc cpp cxx cu hh hpp f f90 java [jt]s go rs jl lua m p[ly] r rb ipynb rmd qmd sql
    (?:ba|c|k|tc|z)?sh bat ps1 mk cmake md rst tex bib html? css svg xml json jsonl ya?ml toml [ct]sv
  `)})$`,
  'i',
);

export const isNamedOtherwise = (name: string): boolean => otherNames.test(name);

/** Whether a file is a script, by its name or first line. */
export const isScript = (name: string, text: string): boolean =>
  isNamedOtherwise(name) || /^#!(?!.*condor_submit)/.test(text);

/** Whether a file is a submit file: by its name, or if most lines before its `queue` are commands. */
export function isSubmitFile(name: string, text: string): boolean {
  if (/\.(?:sub|submit|condor|jdl)$/i.test(name)) return true;
  const queue = text.search(/^[ \t]*queue\b/im);
  if (queue < 0 || isScript(name, text)) return false;
  const lines = text
    .slice(0, queue)
    .split('\n')
    .filter((line) => !/^\s*(?:#|$)/.test(line));
  return lines.filter((line) => /^\s*[+\w.]+\s*=/.test(line)).length * 2 > lines.length;
}
