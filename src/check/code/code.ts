import type { ShellCommand } from '../../adopt/shell-commands.ts';
import type { SourceLine } from '../../base/finding.ts';
import type { PythonLine } from './python-lines.ts';

/** A text file that is sent with the job, by its path beside the job file. */
export interface SentText {
  file: string;
  text: string;
}

/** A shell command of the job file, and where it stands. */
export interface CommandText {
  text: string;
  place: SourceLine;
}

/** A simple command that the job runs, wherever it stands. */
export interface RunCommand extends Pick<ShellCommand, 'words' | 'before'> {
  place: SourceLine;
}

/** A file sent along that the job runs or imports. */
export type CodeFile = SentText & ({ kind: 'shell' } | { kind: 'python'; lines: PythonLine[] });

/** What a job runs, as far as it can be read. */
export interface JobCode {
  commands: RunCommand[];
  files: CodeFile[];
  /** Every text in which a name may stand: commands and all files sent along. */
  texts: string[];
  /** The program itself is among the files; without it, that a name is missing says nothing. */
  isKnown: boolean;
}

/** Whether a name stands in some text of the job. */
export const mentions = ({ texts }: JobCode, name: string): boolean =>
  texts.some((text) => text.includes(name));
