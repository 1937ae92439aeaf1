import { counted } from '../base/counted.ts';
import { applyRules, type Finding, sortFindings, type Rule } from '../base/finding.ts';
import { hideInFindings, hideSecretsOf, quotedTexts } from './hide-secrets.ts';
import type { SubmitFacts } from './submit-facts.ts';
import { containerRules } from './rules/container.ts';
import { expressionRules } from './rules/expressions.ts';
import { gpuRules } from './rules/gpus.ts';
import { nameRules } from './rules/names.ts';
import { poolLineRules } from './rules/pool-lines.ts';
import { recoveryRules } from './rules/recovery.ts';
import { resourceRules } from './rules/resources.ts';
import { scriptRules } from './rules/script.ts';
import { statementRules } from './rules/statements.ts';
import { transferRules } from './rules/transfer.ts';
import { valueRules } from './rules/values.ts';
import { worthAddingRules } from './rules/worth-adding.ts';
import { wrapperRules } from './rules/wrapper.ts';
import { readWrapper } from './shell-commands.ts';

/** Every rule about submit files. */
const submitRules: readonly Rule<SubmitFacts>[] = [
  ...statementRules,
  ...valueRules,
  ...expressionRules,
  ...nameRules,
  ...transferRules,
  ...resourceRules,
  ...gpuRules,
  ...poolLineRules,
  ...recoveryRules,
  ...containerRules,
  ...scriptRules,
  ...worthAddingRules,
];

/** Every rule, for documentation. */
export const allRules: readonly Pick<Rule<never>, 'name' | 'level' | 'about'>[] = [
  ...submitRules,
  ...wrapperRules,
];

/** Everything wrong or risky in a job's shell script; nothing for other text. */
export function lintWrapper(file: string, text: string): Finding[] {
  const wrapper = readWrapper(file, text);
  return wrapper === undefined ? [] : inOrder(applyRules(wrapperRules, wrapper));
}

/** Everything wrong or risky in a submit file and its script, the worst first; without the secrets in them. */
export function lintSubmission(facts: SubmitFacts, hide = hideSecretsOf(quotedTexts(facts))): Finding[] {
  const { wrapper } = facts;
  const findings = [
    ...oncePerFile(inOrder(applyRules(submitRules, facts))),
    ...(wrapper === undefined ? [] : lintWrapper(wrapper.file, wrapper.text)),
  ];
  return sortFindings(hideInFindings(findings, hide));
}

/** The same finding at many queue statements becomes one, at the first of them. */
function oncePerFile(findings: readonly Finding[]): Finding[] {
  const groups = Map.groupBy(findings, ({ rule, message, fix }) => JSON.stringify([rule, message, fix]));
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const lines = new Set([first, ...others].map(({ line }) => line)).size - 1;
    return {
      ...first,
      message: lines === 0 ? first.message : `${first.message} (and at ${counted(lines, 'other line')})`,
    };
  });
}

/** The worst first, then in the file's order. */
const inOrder = (findings: Finding[]): Finding[] =>
  sortFindings(
    findings.sort((a, b) => (a.file ?? '').localeCompare(b.file ?? '') || (a.line ?? 0) - (b.line ?? 0)),
  );
