import { shellQuote } from '../base/shell-quote.ts';
import { Fault } from '../fault/fault.ts';
import type { SpecProblem } from './source-file.ts';

/** Everything that is wrong with a job file, in one fault. */
export class SpecFault extends Fault {
  readonly problems: readonly SpecProblem[];

  constructor(problems: readonly SpecProblem[]) {
    const file = problems[0]?.file ?? '';
    const lines = problems.map(showProblem).join('\n');
    super(
      'file-invalid',
      problems.length === 1 ? lines : `${problems.length} problems in ${file}\n${lines}`,
      {
        about: file,
        fix: file.startsWith('--') ? 'correct it' : `correct it, then run: updraft check ${shellQuote(file)}`,
      },
    );
    this.problems = problems;
  }
}

function showProblem(problem: SpecProblem): string {
  const key = problem.key === '' ? '' : `${problem.key}: `;
  return `${problem.file}:${problem.line}:${problem.column}: ${key}${problem.message}`;
}
