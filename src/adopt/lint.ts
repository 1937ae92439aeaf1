import { applyRules, type Finding, sortFindings, type Rule } from '../base/finding.ts';
import { hideInFindings, hideSecretsOf, quotedTexts } from './hide-secrets.ts';
import { batches, type SubmitFacts, valueOf } from './submit-facts.ts';
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
import { canonicalCommand } from './submit-commands.ts';
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
    ...alikeAsOne(oncePerFile(inOrder(withoutFollowing(applyRules(submitRules, facts))))),
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

/** The same finding at many queue statements becomes one, at the first of them. */
const oncePerFile = (findings: readonly Finding[]): Finding[] =>
  [
    ...Map.groupBy(findings, ({ rule, message, fix }) => JSON.stringify([rule, message, fix])).values(),
  ].flatMap(asOne);

/** More findings than these that differ in one value are one. */
const maxAlike = 3;
/** Each name is a mistake of its own; common advice is one line anyway. */
const apart = new Set(['unused-name', 'worth-adding']);

/** Findings that differ in one value only are one, with the first few: `(likewise b.dat, c.dat and 37 more)`. */
export function alikeAsOne(findings: readonly Finding[]): Finding[] {
  const kinds = new Map<string, Finding[][]>();
  for (const finding of findings.filter(({ rule }) => !apart.has(rule))) {
    const kind = JSON.stringify([finding.rule, finding.level, finding.message.split(' ').length]);
    const groups = kinds.get(kind) ?? [];
    kinds.set(kind, groups);
    const group = groups.find(([first = finding]) => otherValue(first, finding) !== undefined);
    if (group === undefined) groups.push([finding]);
    else group.push(finding);
  }
  const many = [...kinds.values()].flat().filter(({ length }) => length > maxAlike);
  const groupOf = new Map(many.flatMap((group) => group.map((finding) => [finding, group] as const)));
  return findings.flatMap((finding) => {
    const group = groupOf.get(finding) ?? [finding];
    return group[0] === finding ? asOne(group) : [];
  });
}

/** The value in which a finding and its fix differ from another: '' if they do not; undefined if in more, or in the command. */
function otherValue(first: Finding, other: Finding): string | undefined {
  const [words = [], others = []] = [first, other].map(({ message, fix }) =>
    `${message} ${fix}`.split(/[ \n]/),
  );
  const bare = (word: string): string => word.replaceAll(/[^\w./-]/g, '');
  const pairs = words
    .map((word, at) => [word, others[at] ?? ''] as const)
    .filter(([word, value]) => word !== value);
  const [from = '', to = ''] = pairs[0]?.map(bare) ?? [];
  const isCommand = [from, to].some((word) => canonicalCommand(word) !== undefined);
  const isOne = pairs.length === 1 || pairs.every(([word, value]) => word.replaceAll(from, to) === value);
  if (words.length !== others.length || isCommand || !isOne) return undefined;
  return first.message === other.message ? '' : (pairs[0]?.[1].replace(/[:,;]$/, '') ?? '');
}

/** All, if only a few would be left out. */
const someOf = (names: ReadonlySet<unknown>): string =>
  firstFew([...names].map(String), names.size > 2 * maxAlike ? maxAlike : names.size);

/** The first of alike findings, with the values and places of the others. */
function asOne([first, ...others]: readonly Finding[]): Finding[] {
  if (first === undefined) return [];
  const values = new Set(others.map((one) => otherValue(first, one) ?? ''));
  values.delete('');
  const files = new Set(others.flatMap(({ file }) => (file === first.file ? [] : (file ?? []))));
  const lines = new Set(others.flatMap(({ file, line }) => (file === first.file ? (line ?? []) : [])));
  lines.delete(first.line ?? 0);
  const more = [
    ...(values.size === 0 ? [] : [`likewise ${someOf(values)}`]),
    ...(files.size === 0 ? [] : [`also in ${someOf(files)}`]),
    ...(lines.size === 0 ? [] : [`also at ${lines.size === 1 ? 'line' : 'lines'} ${someOf(lines)}`]),
  ].join('; ');
  const isSameFix = others.every(({ fix }) => fix === first.fix);
  return [
    {
      ...first,
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
