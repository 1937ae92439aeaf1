import { applyRules, type Finding, firstFew, type Rule, sortFindings, given } from '@updraft/base';
import { hideInFindings, hideSecretsOf, quotedTexts } from './hide-secrets.ts';
import { batches, type SubmitFacts, valueOf } from '../submit/submit-facts.ts';
import { containerRules, poolLineRules, resourceRules } from './rules/resources.ts';
import { expressionRules, valueRules } from './rules/values.ts';
import { gpuRules } from './rules/gpus.ts';
import { nameRules } from './rules/names.ts';
import { recoveryRules, worthAddingRules } from './rules/recovery.ts';
import { scriptRules, wrapperRules } from './rules/wrapper.ts';
import { statementRules } from './rules/statements.ts';
import { transferRules } from './rules/transfer.ts';
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
    ...alikeAsOne(inOrder(withoutFollowing(applyRules(submitRules, facts))), 1),
    ...(wrapper === undefined ? [] : lintWrapper(wrapper.file, wrapper.text).map(inImageOf(facts))),
  ];
  return sortFindings(hideInFindings(findings, hide));
}

/** A comment in a value explains what else is found in its line; a secret stays one. */
function withoutFollowing(findings: readonly Finding[]): Finding[] {
  const lineOf = ({ file = '', line = 0 }: Finding): string => `${file}:${line}`;
  const isComment = ({ rule }: Finding): boolean => rule === 'comment-in-value';
  const commented = new Set(findings.filter(isComment).map(lineOf));
  return findings.filter((one) => isComment(one) || /-secret$/.test(one.rule) || !commented.has(lineOf(one)));
}

/** In Docker, the shell that an image starts with may run a script without `#!`. */
const inImageOf =
  (facts: SubmitFacts) =>
  (finding: Finding): Finding =>
    finding.rule === 'no-interpreter' &&
    batches(facts).some((batch) => valueOf(batch, 'docker_image') !== undefined)
      ? { ...finding, level: 'warning', message: `${finding.message}, unless its image starts with a shell` }
      : finding;

/** More findings than these that differ in one value, or are the same in different files, are one. */
const maxAlike = 3;

/**
 * Findings that differ in one value only are one, with the first few: `(likewise b.dat, c.dat and 37 more)`. So are
 * more than `maxSame` that do not differ at all.
 */
export function alikeAsOne(findings: readonly Finding[], maxSame = maxAlike): Finding[] {
  const groups = Map.groupBy(findings, ({ rule, level, about }) =>
    JSON.stringify([rule, level, about?.slice(1)]),
  );
  const groupOf = new Map<Finding, readonly Finding[]>();
  for (const group of groups.values()) {
    const values = new Set(group.flatMap(({ about }) => about?.[0] ?? []));
    const same = Map.groupBy(group, ({ message, fix, about }) => JSON.stringify(about ?? [message, fix]));
    const joined = values.size > maxAlike ? [group] : same.values().filter(({ length }) => length > maxSame);
    for (const one of joined) for (const finding of one) groupOf.set(finding, one);
  }
  return findings.flatMap((finding) => {
    const group = groupOf.get(finding) ?? [finding];
    return group[0] === finding ? asOne(group) : [];
  });
}

/** All, if only a few would be left out. */
const someOf = (names: ReadonlySet<unknown>): string =>
  firstFew([...names].map(String), names.size > 2 * maxAlike ? maxAlike : names.size);

/** The first of alike findings, with the values and places of the others. */
function asOne([first, ...others]: readonly Finding[]): Finding[] {
  if (first === undefined || others.length === 0) return first === undefined ? [] : [first];
  const values = new Set(others.flatMap(({ about }) => about?.[0] ?? []));
  values.delete(first.about?.[0] ?? '');
  const files = new Set(others.flatMap(({ file }) => (file === first.file ? [] : (file ?? []))));
  const lines = new Set(others.flatMap(({ file, line }) => (file === first.file ? (line ?? []) : [])));
  lines.delete(first.line ?? 0);
  const more = given(
    values.size !== 0 && `likewise ${someOf(values)}`,
    files.size !== 0 && `also in ${someOf(files)}`,
    lines.size !== 0 && `also at ${lines.size === 1 ? 'line' : 'lines'} ${someOf(lines)}`,
  ).join('; ');
  const isSameFix = others.every(({ fix }) => fix === first.fix);
  return [
    {
      ...first,
      about: undefined,
      message: more === '' ? first.message : `${first.message} (${more})`,
      fix: isSameFix ? first.fix : `${first.fix}\n(the others in the same way)`,
      ...(lines.size === 0 ? {} : { alsoAt: [...lines] }),
    },
  ];
}

/** The worst first, then in the file's order. */
const inOrder = (findings: Finding[]): Finding[] =>
  sortFindings(
    findings.sort((a, b) => (a.file ?? '').localeCompare(b.file ?? '') || (a.line ?? 0) - (b.line ?? 0)),
  );
