import type { Evidence } from './evidence.ts';
import { findAll, type Finding, type Rule } from './finding.ts';
import { containerRules } from './rules/container.ts';
import { nameRules } from './rules/names.ts';
import { recoveryRules } from './rules/recovery.ts';
import { resourceRules } from './rules/resources.ts';
import { scriptRules } from './rules/script.ts';
import { statementRules } from './rules/statements.ts';
import { transferRules } from './rules/transfer.ts';
import { wrapperRules } from './rules/wrapper.ts';
import { readWrapper } from './wrapper.ts';

/** Every rule about submit descriptions. */
const submitRules: readonly Rule<Evidence>[] = [
  ...statementRules,
  ...nameRules,
  ...transferRules,
  ...resourceRules,
  ...recoveryRules,
  ...containerRules,
  ...scriptRules,
];

/** Every rule, for documentation. */
export const allRules: readonly Pick<Rule<never>, 'id' | 'severity' | 'about'>[] = [
  ...submitRules,
  ...wrapperRules,
];

/** All that is wrong or risky in a job's shell script; nothing for a text that is no shell script. */
export function lintWrapper(file: string, text: string): Finding[] {
  const wrapper = readWrapper(file, text);
  return wrapper === undefined ? [] : findAll(wrapperRules, wrapper);
}

/** All that is wrong or risky in a submit description and its script, the worst first. */
export function lintSubmission(evidence: Evidence): Finding[] {
  const { wrapper } = evidence;
  const findings = [
    ...findAll(submitRules, evidence),
    ...(wrapper === undefined ? [] : lintWrapper(wrapper.file, wrapper.text)),
  ];
  const rank = { error: 0, warning: 1, note: 2 };
  return findings.sort((a, b) => rank[a.severity] - rank[b.severity]);
}
