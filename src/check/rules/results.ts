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
    about: 'No command or file that is sent mentions a declared output, so nothing seems to write it.',
    check: ({ plan, code, where }) => {
      if (!code.isKnown) return [];
      return plan.spec.train.outputs
        .filter((output) => !namesOf(output).some((name) => mentions(code, name)))
        .map((output) => ({
          message: `neither the command nor the files sent mention the output "${output}": every job would fail without it`,
          fix: 'declare what the training writes, by its path in the work folder',
          place: where('train', 'outputs'),
        }));
    },
  },
];

/** How code may spell an output: its base name, without extension, or the parts around a parameter. */
function namesOf(output: string): string[] {
  const base = path.posix.basename(output.replace(/\/+$/, ''));
  const stem = base.replace(/\.[^.]*$/, '');
  const pieces = base.split(/\{[^{}]*\}|[*?[\]]/).filter((piece) => piece.length > 2);
  return [base, stem, ...pieces].filter((name) => name !== '');
}

/** `no-interpreter` does not matter here, since the shell starts the scripts; downloads have their own rule. */
const reportedElsewhere = new Set(['no-interpreter', 'run-time-download']);

/** A lost status fails no job here, since the declared outputs decide; it only hides the checkpoint's exit code. */
const demoted = new Set(['status-lost', 'pipe-status-lost']);

/** Findings of `adopt`'s lint in the shell scripts that the job runs. */
export function scriptFindings({ code }: CodeFacts): Finding[] {
  return code.files
    .filter(({ kind }) => kind === 'shell')
    .flatMap(({ file, text }) => lintWrapper(file, text))
    .filter(({ rule }) => !reportedElsewhere.has(rule))
    .map((finding) => (demoted.has(finding.rule) ? { ...finding, level: 'warning' } : finding));
}
