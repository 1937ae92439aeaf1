import type { Termination } from '../eventlog/details.ts';
import { kindOfExit } from '../recovery/answers.ts';
import type { Cause } from './causes.ts';

/** What an end by itself comes from: `none` where it was a good one. Exit codes of Updraft's agent say what failed. */
export function exitCause(termination: Termination | undefined): Cause {
  if (termination?.normal !== true) return 'signal';
  if (termination.returnValue === 0) return 'none';
  return kindOfExit(termination.returnValue) ?? 'exit-code';
}
