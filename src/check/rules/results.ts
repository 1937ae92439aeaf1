import path from 'node:path';
import { lintWrapper } from '../../adopt/lint.ts';
import { mentions } from '../code/code.ts';
import type { CodeFacts, PlanFacts } from '../facts.ts';
import type { Finding, Rule } from '../../base/finding.ts';

/** Rules about what a job must leave behind. */
export const resultRules: Rule<PlanFacts & CodeFacts>[] = [
  {
    name: 'output-unwritten',
    level: 'warning',
    about:
      'A declared output is named in no command and no file that is sent, so that nothing seems to write it.',
    check: ({ plan, code, where }) => {
      if (!code.isKnown) return [];
      return plan.spec.train.outputs
        .filter((output) => !namesOf(output).some((name) => mentions(code, name)))
        .map((output) => ({
          message: `the output "${output}" is named neither in the command nor in the files sent: every job would fail for lack of it`,
          fix: 'declare what the training really writes, by its path in the work folder',
          place: where('train', 'outputs'),
        }));
    },
  },
];

/** How code may spell an output: whole, its last part, without its ending, or around a parameter. */
function namesOf(output: string): string[] {
  const base = path.posix.basename(output.replace(/\/+$/, ''));
  const stem = base.replace(/\.[^.]*$/, '');
  const pieces = base.split(/\{[^{}]*\}|[*?[\]]/).filter((piece) => piece.length > 2);
  return [base, stem, ...pieces].filter((name) => name !== '');
}

/** How scripts are run here makes these two no matter: the shell starts them, not HTCondor. */
const reportedElsewhere = new Set(['no-interpreter', 'run-time-download']);

/** A lost status fails no job here, for the declared outputs decide; what it costs is the checkpoint's exit code. */
const demoted = new Set(['status-lost', 'pipe-status-lost']);

/** What the lint of `adopt` says about the shell scripts that the job runs. */
export function scriptFindings({ code }: CodeFacts): Finding[] {
  return code.files
    .filter(({ kind }) => kind === 'shell')
    .flatMap(({ file, text }) => lintWrapper(file, text))
    .filter(({ rule }) => !reportedElsewhere.has(rule))
    .map((finding) => (demoted.has(finding.rule) ? { ...finding, level: 'warning' } : finding));
}
