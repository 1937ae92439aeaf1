import type { FileProblems } from './source-file.ts';
import { poolTraits } from './pool-traits.ts';
import type { Scalar } from './spec.ts';
import { submitFileLines, type PoolLines } from './submit-lines.ts';

/** The user's own lines for the pool: they may neither replace a line of Updraft's nor break out of their own. */
export function checkPoolSubmit(file: FileProblems): void {
  const traits = Object.entries(poolTraits).find(([name]) => name === file.get('run', 'pool'))?.[1];
  const lines = traits?.submitLines ?? submitFileLines;
  for (const name of file.keys('pool', 'submit')) {
    const value = file.get('pool', 'submit', name);
    const wrong = nameProblem(name, lines);
    const problem = typeof value === 'string' ? textProblem(value) : undefined;
    if (wrong !== undefined) file.sayOfKey(wrong, 'pool', 'submit', name);
    else if (problem !== undefined) file.say(problem, 'pool', 'submit', name);
  }
}

/** Why HTCondor's `[pool.submit]` does not take a line. */
export const poolLineProblem = (name: string, value: Scalar): string | undefined =>
  nameProblem(name, submitFileLines) ?? (typeof value === 'string' ? textProblem(value) : undefined);

function nameProblem(name: string, { names, expected, byKey, fixed }: PoolLines): string | undefined {
  const plain = name.toLowerCase().replace(/^(\+|my\.)/, '');
  if (fixed.test(plain)) return 'Updraft writes this line itself, and recovery depends on it; remove it';
  const instead = Object.keys(byKey).find((key) => byKey[key]?.test(plain));
  if (instead !== undefined) return `Updraft writes this line itself; use ${instead} instead`;
  return names.test(name) ? undefined : `this name cannot be used; expected ${expected}`;
}

function textProblem(text: string): string | undefined {
  if (/[\0\n\r]/.test(text)) return 'has a line break; expected one line';
  if (/\\\s*$/.test(text)) return 'ends in a backslash, which would join it with the next line; remove it';
  if (/\$\$?[\w:]*[([]/.test(text)) return 'has a macro, like $(NAME); expected the value itself';
  return text.trim() === '' ? 'is empty; expected a value' : undefined;
}
