import { shellQuote } from '../base/shell-quote.ts';

/** The argument of every command that reads a job file. */
export const jobFileArgument = ['[folder|file]', 'the job file, or the folder that holds it', '.'] as const;

/** The same argument in a command that we suggest: with its space, or nothing where it would be the default. */
export const jobFileWord = (where: string): string => (where === '.' ? '' : ` ${shellQuote(where)}`);
