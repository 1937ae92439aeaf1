import { counted } from '../base/counted.ts';
import { applyRules, type Finding, sortFindings, type Rule } from '../base/finding.ts';
import { hideInFindings, hideSecretsOf, quotedTexts } from './hide-secrets.ts';
import type { SubmitFacts } from './submit-facts.ts';
import { firstFew } from '../base/printable.ts';
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
    ...alikeAsOne(oncePerFile(inOrder(applyRules(submitRules, facts)))),
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

/** More findings than these that differ in one value are one. */
const maxAlike = 3;

/** Findings of one cause are one, with the first few of their values: `(likewise b.dat, c.dat and 37 more)`. */
export function alikeAsOne(findings: readonly Finding[]): Finding[] {
  const kinds = new Map<string, { finding: Finding; words: string[] }[][]>();
  for (const finding of findings) {
    const words = finding.message.split(' ');
    const kind = JSON.stringify([finding.rule, finding.level, words.length]);
    const groups = kinds.get(kind) ?? [];
    kinds.set(kind, groups);
    const group = groups.find(([first]) => first !== undefined && valueIn(words, first.words) !== undefined);
    if (group !== undefined) group.push({ finding, words });
    else groups.push([{ finding, words }]);
  }
  const many = [...kinds.values()]
    .flat()
    // Common advice is one line anyway.
    .filter(([first, ...others]) => others.length >= maxAlike && first?.finding.rule !== 'worth-adding');
  const merged = new Map(many.flatMap((group) => group.map(({ finding }) => [finding, group] as const)));
  return findings.flatMap((finding) => {
    const group = merged.get(finding);
    if (group === undefined) return [finding];
    return group[0]?.finding === finding ? [asOne(finding, group)] : [];
  });
}

/** The longest word in which a message differs from another, apart from numbers; empty if in none, undefined if in many. */
function valueIn(words: readonly string[], others: readonly string[]): string | undefined {
  const isNumber = (word: string): boolean => /^\d+$/.test(word);
  const different = words.filter(
    (word, index) => word !== others[index] && !(isNumber(word) && isNumber(others[index] ?? '')),
  );
  const [longest = ''] = different.toSorted((a, b) => b.length - a.length);
  return different.length > 2 ? undefined : longest.replace(/[:,;]$/, '');
}

/** All, if only a few would be left out. */
const someOf = (names: readonly string[]): string =>
  firstFew(names, names.length > 2 * maxAlike ? maxAlike : names.length);

function asOne(first: Finding, group: readonly { finding: Finding; words: readonly string[] }[]): Finding {
  const others = group.filter(({ finding }) => finding !== first);
  const own = first.message.split(' ');
  const values = [...new Set(others.map(({ words }) => valueIn(words, own) ?? ''))].filter(
    (one) => one !== '',
  );
  const files = [...new Set(others.flatMap(({ finding: { file } }) => file ?? []))].filter(
    (one) => one !== first.file,
  );
  const likewise =
    values.length > 0
      ? `likewise ${someOf(values)}`
      : files.length > 0
        ? `likewise in ${someOf(files)}`
        : `and at ${counted(others.length, 'other line')}`;
  const isSameFix = others.every(({ finding: { fix } }) => fix === first.fix);
  return {
    ...first,
    message: `${first.message} (${likewise})`,
    fix: isSameFix ? first.fix : `${first.fix} (the others in the same way)`,
  };
}

/** The worst first, then in the file's order. */
const inOrder = (findings: Finding[]): Finding[] =>
  sortFindings(
    findings.sort((a, b) => (a.file ?? '').localeCompare(b.file ?? '') || (a.line ?? 0) - (b.line ?? 0)),
  );
