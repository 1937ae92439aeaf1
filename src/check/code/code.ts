import type { ShellCommand } from '@updraft/htcondor/lint';
import type { SourceLine } from '@updraft/base';
import type { ScriptFacts } from '../../script/read-script.ts';

/** A text file that is sent with the job; its path is relative to the job file. */
export interface SentText {
  file: string;
  text: string;
}

/** A shell command in the job file, and its line. */
export interface CommandText {
  text: string;
  place: SourceLine;
}

/** A simple command that the job runs, from the job file or a script. */
export interface RunCommand extends Pick<ShellCommand, 'words' | 'before'> {
  place: SourceLine;
}

/** A file sent with the job that it runs or imports. */
export type CodeFile = SentText & ({ kind: 'shell' } | { kind: 'python'; script: ScriptFacts });

/** What a job runs, as far as it can be read. */
export interface JobCode {
  commands: RunCommand[];
  files: CodeFile[];
  /** All text that may mention a name: the commands and all files sent. */
  texts: string[];
  /** Whether the program is among the files; if not, a missing name means nothing. */
  isKnown: boolean;
}

/** Whether any text of the job mentions a name. */
export const mentions = ({ texts }: JobCode, name: string): boolean =>
  texts.some((text) => text.includes(name));
